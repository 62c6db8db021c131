package schema

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"sync"
)

// maxCacheBytes bounds the sum of the lengths of the cached schemas' texts. A
// compiled schema takes about six times its text.
const maxCacheBytes = 8 << 20

// Cache keeps compiled schemas by the SHA-256 of their text, failures too, and
// drops the least recently used. It is safe for concurrent use: a schema asked
// for by many at once is compiled once.
type Cache struct {
	max int

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element
	recent  *list.List // of *cached, the latest first
	bytes   int
}

type cached struct {
	key      [sha256.Size]byte
	size     int
	once     sync.Once
	compiled *Compiled
	err      error
}

// NewCache returns a cache of at most max schemas, at least one, whose texts
// have at most 8 MiB together.
func NewCache(max int) *Cache {
	if max < 1 {
		max = 1
	}
	return &Cache{max: max, entries: map[[sha256.Size]byte]*list.Element{}, recent: list.New()}
}

// Get compiles raw or returns what an earlier Get made of the same bytes.
func (c *Cache) Get(raw []byte) (*Compiled, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("read the schema: %d bytes long, at most %d are read", len(raw), MaxSchemaBytes)
	}
	e := c.entry(sha256.Sum256(raw), len(raw))
	e.once.Do(func() { e.compiled, e.err = Compile(raw) })
	return e.compiled, e.err
}

// Len returns the number of cached schemas.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// entry finds or adds an entry and makes room for it. One that is dropped
// while it is being compiled still serves those who hold it.
func (c *Cache) entry(key [sha256.Size]byte, size int) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.recent.MoveToFront(el)
		return el.Value.(*cached)
	}
	e := &cached{key: key, size: size}
	c.entries[key] = c.recent.PushFront(e)
	c.bytes += size
	for len(c.entries) > c.max || c.bytes > maxCacheBytes {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*cached)
		delete(c.entries, old.key)
		c.bytes -= old.size
	}
	return e
}
