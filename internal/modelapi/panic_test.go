package modelapi_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/turn"
)

// watched is a backend that tells of the runs that are closed, and whose runs may
// panic.
type watched struct {
	*backend
	panics bool
	closed chan struct{}
}

type watchedRun struct {
	modelapi.Run
	of *watched
}

func (w *watched) Start(ctx context.Context, r modelapi.RunRequest) (modelapi.Run, error) {
	run, err := w.backend.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return &watchedRun{run, w}, nil
}

func (r *watchedRun) Next(ctx context.Context, in turn.Input, emit func(provider.Event) error) (*turn.Step, error) {
	if r.of.panics {
		panic("a run that panics")
	}
	return r.Run.Next(ctx, in, emit)
}

func (r *watchedRun) Close() {
	r.Run.Close()
	r.of.closed <- struct{}{}
}

// bursting is a format that cannot write the end of an answer.
type bursting struct{ provider.Format }

type burstingEncoder struct{ provider.StreamEncoder }

func (b bursting) NewStreamEncoder(w io.Writer, head provider.Response, req *provider.Request) provider.StreamEncoder {
	return burstingEncoder{b.Format.NewStreamEncoder(w, head, req)}
}

func (burstingEncoder) Finish(*provider.Response) error { panic("an encoder that panics") }

func (bursting) EncodeResponse(*provider.Response) ([]byte, error) {
	panic("an encoder that panics")
}

// Whatever panics while a run is answered, the run is closed then, and not when
// its time is over or the server ends.
func TestPanicsCloseTheRun(t *testing.T) {
	for _, c := range []struct {
		name, extra  string
		run, encoder bool
	}{
		{"the run", "", true, false},
		{"the encoder", "", false, true},
		{"the encoder of a stream", `,"stream":true`, false, true},
		{"the encoder, and the run waits", `,"tools":[` + pickTool + `]`, false, true},
		{"the encoder of a stream, and the run waits", `,"stream":true,"tools":[` + pickTool + `]`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			watch := &watched{panics: c.run, closed: make(chan struct{}, 8)}
			script := mock.Script{Choose: func(*mock.Exchange) mock.Step {
				if strings.Contains(c.extra, "pick") {
					return mock.Call("pick", `{"kind":"a"}`)
				}
				return mock.Text("ok")
			}}
			w := start(t, script, func(o *modelapi.Options) {
				watch.backend = o.Backend.(*backend)
				o.Backend = watch
				if c.encoder {
					for i, f := range o.Formats {
						o.Formats[i] = bursting{f}
					}
				}
			})
			req, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			resp := w.send(t, req, "POST", "/v1/chat/completions", chat(c.extra, hi))
			_, _ = io.Copy(io.Discard, resp.Body) // a stream breaks off
			_ = resp.Body.Close()
			select {
			case <-watch.closed:
			case <-req.Done():
				t.Error("the run was not closed")
			}
		})
	}
}
