package core

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// headTail is a writer that keeps the beginning and the end of what is written:
// the start of an output says what it is, and its end how it went. It holds at
// most the bytes it was made for. It is not safe for concurrent use.
type headTail struct {
	head    []byte
	tail    []byte // a ring once it is full
	at      int    // where the ring's next byte goes
	headMax int
	tailMax int
	total   int64
}

func newHeadTail(max int) *headTail {
	return &headTail{headMax: max / 2, tailMax: max - max/2}
}

// Write never fails, so that a command is not disturbed by our bound.
func (h *headTail) Write(p []byte) (int, error) {
	written := len(p)
	h.total += int64(written)
	if n := min(len(p), h.headMax-len(h.head)); n > 0 {
		h.head = append(h.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > h.tailMax {
		p = p[len(p)-h.tailMax:]
	}
	if n := min(len(p), h.tailMax-len(h.tail)); n > 0 {
		h.tail = append(h.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(h.tail[h.at:], p)
		h.at = (h.at + n) % h.tailMax
		p = p[n:]
	}
	return written, nil
}

// omitted is how many bytes fell out of the middle.
func (h *headTail) omitted() int64 { return h.total - int64(len(h.head)+len(h.tail)) }

// String is what was kept, as valid UTF-8, with a line that says what was cut.
func (h *headTail) String() string {
	tail := string(h.tail[h.at:]) + string(h.tail[:h.at])
	cut := h.omitted()
	if cut == 0 {
		return strings.ToValidUTF8(string(h.head)+tail, "\uFFFD")
	}
	head := h.head
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
