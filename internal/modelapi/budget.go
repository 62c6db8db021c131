package modelapi

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// budget bounds the bytes of all requests that are read and answered at one time:
// of large ones the gate would let in more than memory holds.
type budget struct {
	most int64
	now  atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.now.Add(n) > b.most {
		b.now.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.now.Add(-n) }

// has reports whether there would be room now. Nothing is set aside: a client
// that announces much and sends nothing takes nothing.
func (b *budget) has(n int64) bool { return b.now.Load()+max(0, n) <= b.most }

// errCrowded is that of a body that the budget has no room for.
var errCrowded = errors.New("too much is being asked at one time")

// weighed takes what is read of a body from a budget. Whoever made it gives n
// back at the end.
type weighed struct {
	io.ReadCloser
	of *budget
	n  int64
}

// Read is an errCrowded where the budget ends.
func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if !w.of.take(int64(n)) {
		return 0, errCrowded
	}
	w.n += int64(n)
	return n, err
}

func tooMuch() *provider.Error {
	return &provider.Error{
		Status: http.StatusTooManyRequests, RetryAfter: time.Second,
		Message: "the requests that are being answered have too many bytes together; try again",
	}
}
