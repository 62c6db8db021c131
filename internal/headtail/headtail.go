// Package headtail keeps the beginning and the end of what a command prints: the
// start of an output says what it is, and its end how it went.
package headtail

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Buffer is a writer that holds at most the bytes it was made for. It is safe for
// concurrent use.
type Buffer struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte // a ring once it is full
	at      int    // where the ring's next byte goes
	headMax int
	tailMax int
	total   int64
}

// New makes a Buffer of max bytes, half of them for the end.
func New(max int) *Buffer {
	return &Buffer{headMax: max / 2, tailMax: max - max/2}
}

// Write never fails, so that a command is not disturbed by our bound.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	written := len(p)
	b.total += int64(written)
	if n := min(len(p), b.headMax-len(b.head)); n > 0 {
		b.head = append(b.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > b.tailMax {
		p = p[len(p)-b.tailMax:]
	}
	if n := min(len(p), b.tailMax-len(b.tail)); n > 0 {
		b.tail = append(b.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(b.tail[b.at:], p)
		b.at = (b.at + n) % b.tailMax
		p = p[n:]
	}
	return written, nil
}

// Omitted is how many bytes fell out of the middle.
func (b *Buffer) Omitted() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.omitted()
}

func (b *Buffer) omitted() int64 { return b.total - int64(len(b.head)+len(b.tail)) }

// String is what was kept, as valid UTF-8, with a line that says what was cut.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	tail := string(b.tail[b.at:]) + string(b.tail[:b.at])
	cut := b.omitted()
	if cut == 0 {
		return strings.ToValidUTF8(string(b.head)+tail, "\uFFFD")
	}
	head := b.head
	for i := 0; i < utf8.UTFMax-1 && len(head) > 0; i++ { // half a rune
		if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax-1 && tail != "" && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return strings.ToValidUTF8(string(head), "\uFFFD") +
		fmt.Sprintf("\n[… %d bytes omitted …]\n", cut) +
		strings.ToValidUTF8(tail, "\uFFFD")
}
