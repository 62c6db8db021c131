package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// Stage returns the stage that asks the hooks around every call.
func (s *Set) Stage() call.Stage {
	return func(next call.Handler) call.Handler {
		if len(s.hooks) == 0 {
			return next
		}
		return func(ctx context.Context, r call.Request) (*tool.Result, error) {
			if err := s.runBefore(ctx, &r); err != nil {
				return nil, err
			}
			res, err := next(ctx, r)
			if err != nil || res == nil {
				return res, err
			}
			return s.runAfter(ctx, &r, res)
		}
	}
}

// runBefore asks the before hooks, and then a person where one of them wants it.
func (s *Set) runBefore(ctx context.Context, r *call.Request) error {
	var askedBy []string
	var reasons []string
	for _, h := range s.before {
		if !h.matches(r.Target) {
			continue
		}
		d, err := h.ask(ctx, newInput(Before, r, nil))
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return h.blocked(r.Target, "the hook gave no usable answer: "+publicText(err), err)
		}
		switch d.Verdict {
		case Continue:
		case Replace:
			r.Args, r.ReplacedBy = d.Args, h.Name
		case Ask:
			askedBy = append(askedBy, h.Name)
			if d.Reason != "" {
				reasons = append(reasons, d.reason())
			}
		default:
			return h.blocked(r.Target, d.reason(), nil)
		}
	}
	if len(askedBy) == 0 {
		return nil
	}
	return s.approve(ctx, r, askedBy, reasons)
}

// approve asks a person about the call as the hooks left it.
func (s *Set) approve(ctx context.Context, r *call.Request, hooks, reasons []string) error {
	by := strings.Join(hooks, ", ")
	reason := strings.Join(reasons, "; ")
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
func (s *Set) runAfter(ctx context.Context, r *call.Request, res *tool.Result) (*tool.Result, error) {
	for _, h := range s.after {
		if !h.matches(r.Target) {
			continue
		}
		d, err := h.ask(ctx, newInput(After, r, res))
		if err != nil {
			return nil, h.withheld(r.Target, "a hook on its result gave no usable answer: "+publicText(err), err)
		}
		switch d.Verdict {
		case Continue:
		case Replace:
			res = &tool.Result{Content: d.Result.Content, Details: d.Result.Details, IsError: d.Result.IsError}
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
func (h *hook) blocked(t *tool.Tool, why string, cause error) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     h.Name,
		Reason: fmt.Sprintf("%s was not called: %s", t.ID, why),
		Next:   "Use another tool or other arguments, or tell the user.",
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
