package provider

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retry says how often and how long a Client tries again. A request is tried
// again after 408, 409, 429, any 5xx (529 is Anthropic's "overloaded"), and
// after a connection that failed; never once an event of the answer was handed
// on, and never when the API says that it would be of no use.
type Retry struct {
	// Attempts is how often a request is sent at most: 0 means 3, and 1 no retry.
	// At most 10.
	Attempts int
	// Base is the longest wait before the second attempt; it doubles with each
	// one. 0 means 500 ms.
	Base time.Duration
	// Cap bounds every wait. An API that asks for a longer one (Retry-After) is
	// not asked again: the error tells its caller how long. 0 means 30 s.
	Cap time.Duration
	// Jitter returns a number in [0,1) that the wait is multiplied with, so that
	// many clients do not come back at once; nil means a random one.
	Jitter func() float64
}

// maxAttempts bounds Retry.Attempts.
const maxAttempts = 10

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 3
	}
	r.Attempts = min(r.Attempts, maxAttempts)
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.Cap <= 0 {
		r.Cap = 30 * time.Second
	}
	if r.Jitter == nil {
		r.Jitter = rand.Float64
	}
	return r
}

// failure is an attempt that failed in a way that another one may mend.
type failure struct {
	err   error
	after time.Duration // what the API asked to wait; 0 when it said nothing
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// wait returns how long to wait after the given attempt (from 1) failed with
// err, and false when there is nothing to wait for.
func (r Retry) wait(attempt int, err error) (time.Duration, bool) {
	var f *failure
	if !errors.As(err, &f) || attempt >= r.Attempts || f.after > r.Cap {
		return 0, false
	}
	if f.after > 0 {
		return f.after, true
	}
	// Full jitter: a random part of the whole span, which spreads clients that
	// failed together better than a random part on top of a fixed wait.
	span := min(float64(r.Cap), float64(r.Base)*math.Pow(2, float64(attempt-1)))
	return time.Duration(span * r.Jitter()), true
}

// sleep waits, and returns false at once when ctx ends or would end before.
func sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// transient reports whether an answer may be another one next time.
// x-should-retry is the word of both vendors' servers to their own clients.
func transient(e *Error, h http.Header) bool {
	if e.Code == "insufficient_quota" { // of OpenAI: a 429 that no wait mends
		return false
	}
	switch h.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case 0: // inside a stream
		switch e.Type {
		case "overloaded_error", "rate_limit_error", "api_error", "server_error":
			return true
		}
	}
	return e.Status >= 500
}

// retryAfter reads what an API asks to wait: Retry-After of RFC 9110 in seconds
// or as a date, or the vendors' finer retry-after-ms. 0 when it says nothing.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return duration(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, ok := number(v); ok {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil && !math.IsNaN(f)
}

// duration bounds n units to what a time.Duration holds.
func duration(n float64, unit time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	if n *= float64(unit); n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(n)
}
