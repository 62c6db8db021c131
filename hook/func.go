package hook

import (
	"context"
	"errors"
)

// maxFuncRuns bounds the calls of one Func that run at once, those included that
// went on after their time was over.
const maxFuncRuns = 256

// Func returns a Runner that calls f. A panic of f is an error. A f that does not
// return when ctx is done is left behind, and its answer is not waited for; when
// 256 calls run at once, further ones wait for their turn within their time.
func Func(f func(ctx context.Context, in *Input) (Decision, error)) Runner {
	return &function{f: f, slots: make(chan struct{}, maxFuncRuns)}
}

type function struct {
	f     runnerFunc
	slots chan struct{}
}

type runnerFunc func(context.Context, *Input) (Decision, error)

// Run implements Runner.
func (f runnerFunc) Run(ctx context.Context, in *Input) (Decision, error) { return f(ctx, in) }

type answer struct {
	d   Decision
	err error
}

// Run implements Runner.
func (f *function) Run(ctx context.Context, in *Input) (Decision, error) {
	if f.f == nil {
		return Decision{}, errors.New("the hook's function is nil")
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-f.slots }()
		d, err := guarded{f.f}.Run(ctx, in)
		done <- answer{d, err}
	}()
	select {
	case a := <-done:
		return a.d, a.err
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
}
