package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/schema"
)

func TestCache(t *testing.T) {
	c := schema.NewCache(2)
	get := func(raw string) *schema.Compiled {
		t.Helper()
		s, err := c.Get([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := get(`{"type":"string"}`), get(`{"type":"number"}`)
	if a == b {
		t.Fatal("two schemas share a result")
	}
	if get(`{"type":"string"}`) != a {
		t.Error("the same bytes were compiled again")
	}
	get(`{"type":"boolean"}`) // drops b, the least recently used
	if get(`{"type":"string"}`) != a {
		t.Error("the one used last was dropped")
	}
	if get(`{"type":"number"}`) == b {
		t.Error("more than two are kept")
	}
	if c.Len() != 2 {
		t.Errorf("%d are kept, want 2", c.Len())
	}

	_, first := c.Get([]byte(`{"type":7}`))
	_, second := c.Get([]byte(`{"type":7}`))
	if first == nil || first != second {
		t.Errorf("a failure is not remembered: %v, then %v", first, second)
	}
	if _, err := c.Get(make([]byte, schema.MaxSchemaBytes+1)); err == nil {
		t.Error("a schema over the bound was taken")
	}
}

// TestCacheBytes fills the cache with long schemas: the bound on their bytes,
// 8 MiB, holds before the bound on entries does.
func TestCacheBytes(t *testing.T) {
	c := schema.NewCache(1000)
	for i := range 20 {
		if _, err := c.Get([]byte(fmt.Sprintf(`{"title":"%d%s"}`, i, strings.Repeat("x", 900_000)))); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 9 { // 9 × 0.9 MB ≤ 8 MiB < 10 × 0.9 MB
		t.Errorf("%d are kept, want 9", c.Len())
	}
}

func TestCacheZeroIsNotUnlimited(t *testing.T) {
	c := schema.NewCache(0)
	for i := range 5 {
		if _, err := c.Get([]byte(fmt.Sprintf(`{"minimum":%d}`, i))); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 1 {
		t.Errorf("%d are kept, want 1", c.Len())
	}
}

func TestCacheConcurrent(t *testing.T) {
	c := schema.NewCache(4)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				n := (g + i) % 6
				s, err := c.Get([]byte(fmt.Sprintf(`{"minimum":%d}`, n)))
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Validate([]byte(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
				if err := s.Validate([]byte(fmt.Sprint(n - 1))); err == nil {
					t.Errorf("%d is under the minimum %d", n-1, n)
				}
			}
		})
	}
	wg.Wait()
}
