package modelapi

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// budget bounds the bytes of all requests that are read and answered at one time,
// and of each caller's: of large ones the gate would let in more than memory holds.
type budget struct {
	most  int64
	share int64 // of one caller

	mu  sync.Mutex
	now int64
	of  map[string]int64 // of callers that have any
}

// newBudget makes one in which every caller may have one request of the largest.
func newBudget(most, largest int64, callers int) *budget {
	return &budget{most: most, share: max(shareOf(most, callers), largest), of: map[string]int64{}}
}

func (b *budget) take(caller string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fits(caller, n) {
		return false
	}
	b.now += n
	if n > 0 {
		b.of[caller] += n
	}
	return true
}

func (b *budget) give(caller string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now -= n
	if b.of[caller] -= n; b.of[caller] == 0 {
		delete(b.of, caller)
	}
}

// has reports whether there would be room now. Nothing is set aside: a client
// that announces much and sends nothing takes nothing.
func (b *budget) has(caller string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fits(caller, max(0, n))
}

func (b *budget) fits(caller string, n int64) bool {
	return b.now+n <= b.most && b.of[caller]+n <= b.share
}

// errCrowded is that of a body that the budget has no room for.
var errCrowded = errors.New("too much is being asked at one time")

// weighed takes what is read of a caller's body from a budget. Whoever made it
// gives n back at the end.
type weighed struct {
	io.ReadCloser
	of     *budget
	caller string
	n      int64
}

// Read is an errCrowded where the budget ends.
func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if !w.of.take(w.caller, int64(n)) {
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
