package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Stage returns the stage that asks the hooks around every call. The checks see
// the call as the hooks left it, before a person is asked for approval of it.
func (s *Set) Stage(checks ...call.Stage) call.Stage { return s.StageWatched(Watch{}, checks...) }

// StageWatched is Stage, and tells what the hooks did.
func (s *Set) StageWatched(watch Watch, checks ...call.Stage) call.Stage {
	return func(next call.Handler) call.Handler {
		if len(s.hooks) == 0 {
			return next
		}
		rest := s.approved(next)
		for _, check := range slices.Backward(checks) {
			rest = check(rest)
		}
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			w, err := s.runBefore(ctx, &r, watch)
			if err != nil {
				return nil, err
			}
			if len(w.hooks) > 0 {
				ctx = context.WithValue(ctx, wantedKey{}, w)
			}
			res, err := rest(ctx, r)
			if err != nil || res == nil {
				return res, err
			}
			return s.runAfter(ctx, &r, res, watch)
		}
	}
}

// wanted is the approval that hooks want for a call, on its way through the checks.
type wanted struct{ hooks, reasons []string }

type wantedKey struct{}

// approved goes on once a person approved of what hooks want approval for. The
// mark ends here: a call inside of this one is not what they meant.
func (s *Set) approved(next call.Handler) call.Handler {
	return func(ctx context.Context, r call.Request) (*tool.Result, error) {
		if w, ok := ctx.Value(wantedKey{}).(wanted); ok && len(w.hooks) > 0 {
			if err := s.approve(ctx, &r, w); err != nil {
				return nil, err
			}
			ctx = context.WithValue(ctx, wantedKey{}, wanted{})
		}
		return next(ctx, r)
	}
}

// runBefore asks the before hooks, and says which of them want approval.
func (s *Set) runBefore(ctx context.Context, r *call.Request, watch Watch) (w wanted, err error) {
	for _, h := range s.before {
		if !h.matches(r.Target) {
			continue
		}
		d, err := h.ask(ctx, newInput(Before, r, nil))
		switch {
		case err != nil && ctx.Err() != nil:
			return w, ctx.Err()
		case err != nil:
			watch.failed(ctx, h, r.Target, err)
			return w, h.broken(r.Target, err)
		}
		switch d.Verdict {
		case Continue:
		case Replace:
			r.Args, r.ReplacedBy = d.Args, h.Name
			watch.changed(ctx, Change{Hook: h.Name, Event: Before, Args: d.Args})
		case Ask:
			w.hooks = append(w.hooks, h.Name)
			if d.Reason != "" {
				w.reasons = append(w.reasons, d.reason())
			}
		default:
			return w, h.blocked(r.Target, d.reason())
		}
	}
	return w, nil
}

// approve asks a person about the call as the hooks left it.
func (s *Set) approve(ctx context.Context, r *call.Request, w wanted) error {
	by := strings.Join(w.hooks, ", ")
	reason := strings.Join(w.reasons, "; ")
	if reason == "" {
		reason = "the hook " + by + " asks for approval"
	}
	if s.asker == nil {
		return &tool.Error{
			Code:   tool.CodeBlocked,
			By:     by,
			Reason: fmt.Sprintf("%s was not called: it needs approval (%s), and there is nobody to ask", r.Target.ID, reason),
			Next:   "Use another tool, or tell the user what you wanted to do.",
		}
	}
	err := s.asker.Ask(ctx, *r, reason)
	var te *tool.Error
	if err == nil || errors.As(err, &te) || ctx.Err() != nil {
		return err
	}
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     by,
		Reason: fmt.Sprintf("%s was not called: it needs approval (%s), and asking for it failed", r.Target.ID, reason),
		Next:   "Tell the user what you wanted to do.",
		Err:    err,
	}
}

// runAfter shows the result to the after hooks.
func (s *Set) runAfter(ctx context.Context, r *call.Request, res *tool.Result, watch Watch) (*tool.Result, error) {
	for _, h := range s.after {
		if !h.matches(r.Target) {
			continue
		}
		d, err := h.ask(ctx, newInput(After, r, res))
		if err != nil {
			if ctx.Err() == nil {
				watch.failed(ctx, h, r.Target, err)
			}
			return nil, h.withheld(r.Target, fmt.Sprintf("the hook %q on its result gave no usable answer: %s", h.Name, publicText(err)), err)
		}
		switch d.Verdict {
		case Continue:
		case Replace:
			res = &tool.Result{Content: d.Result.Content, Details: d.Result.Details, IsError: d.Result.IsError}
			watch.changed(ctx, Change{Hook: h.Name, Event: After})
		case Annotate:
			res, err = call.AppendText(res, "["+h.Name+"] "+tool.Clean(d.Note, MaxNote))
			if err != nil {
				return nil, h.withheld(r.Target, "a hook's note could not be added to its result", err)
			}
		default:
			return nil, h.withheld(r.Target, "a hook withholds its result: "+d.reason(), nil)
		}
	}
	return res, nil
}

// ask runs the hook within its time and checks the answer.
func (h *hook) ask(ctx context.Context, in *Input) (Decision, error) {
	limited, cancel := context.WithTimeoutCause(ctx, h.Timeout, errTimeout)
	defer cancel()
	d, err := h.Runner.Run(limited, in)
	if err == nil {
		if err := d.check(in.Event); err != nil {
			return Decision{}, &failure{what: err.Error()}
		}
		return d, nil
	}
	if ctx.Err() == nil && errors.Is(context.Cause(limited), errTimeout) {
		err = &failure{what: fmt.Sprintf("nothing came within %v", h.Timeout), err: err}
	}
	return Decision{}, err
}

var errTimeout = errors.New("the hook's time is over")

// failure is an error of a hook that says in what how it failed, in words that a
// model may read. The cause may hold paths, addresses and output, and is for logs.
type failure struct {
	what string
	err  error
}

// Error returns everything.
func (f *failure) Error() string {
	if f.err == nil {
		return f.what
	}
	return f.what + ": " + f.err.Error()
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// publicText is what a model reads of a hook's error.
func publicText(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.what
	}
	return "it failed"
}

func (d *Decision) reason() string {
	if text := tool.Clean(strings.TrimSpace(d.Reason), MaxReason); text != "" {
		return text
	}
	return "no reason given"
}

// blocked says that the target did not run.
func (h *hook) blocked(t *tool.Tool, why string) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     h.Name,
		Reason: fmt.Sprintf("%s was not called: %s", t.ID, why),
		Next:   "Use another tool or other arguments, or tell the user.",
	}
}

// broken says that the target did not run, and that the caller cannot help it.
func (h *hook) broken(t *tool.Tool, cause error) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     h.Name,
		Reason: fmt.Sprintf("%s was not called: the hook %q gave no usable answer: %s", t.ID, h.Name, publicText(cause)),
		Next:   "Nothing is wrong with your arguments. Tell the user that the hook must be mended.",
		Err:    cause,
	}
}

// withheld says that the target did run. Its code is not "blocked": that would
// say that nothing happened.
func (h *hook) withheld(t *tool.Tool, why string, cause error) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeFailed,
		By:     h.Name,
		Reason: fmt.Sprintf("%s ran, but %s", t.ID, why),
		Next:   "Side effects may have happened: check before you repeat it.",
		Err:    cause,
	}
}
