package toolsearch

import (
	"context"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// stages are the pipeline's, outermost first: transcript, what observes,
// policy, pin, repeats, validation, approval, hooks, and validation and approval
// once more, since a hook may have replaced the arguments.
func (o Options) stages(schemas *schema.Cache, repeats *call.Repeats) []call.Stage {
	var stages []call.Stage
	if o.Transcript != nil {
		stages = append(stages, o.Transcript.Stage())
	}
	if o.Observe != nil {
		stages = append(stages, o.Observe)
	}
	stages = append(stages, call.Allowed(func(t *tool.Tool) bool {
		return o.Policy.Allows(t) && (o.Keep == nil || o.Keep(t))
	}))
	if o.Pins != nil {
		stages = append(stages, o.Pins.Stage())
	}
	stages = append(stages, repeats.Stage())
	// Nobody is asked about arguments that are wrong anyway.
	stages = append(stages, call.ValidateInput(schemas))
	if o.Approval != nil {
		if o.Transcript != nil {
			stages = append(stages, noteApprovals)
		}
		stages = append(stages, o.Approval.StageUnder(o.Policy.Fingerprint()))
	} else {
		stages = append(stages, call.OnlyNamed(o.Policy.Named))
	}
	stages = append(stages, call.ValidateOutput(schemas))
	if o.Hooks != nil {
		stages = append(stages, o.Hooks.StageWatched(o.watchHooks(), call.ValidateInput(schemas)))
		if o.Approval != nil {
			stages = append(stages, o.Approval.Recheck())
		}
	}
	return stages
}

// held asks the pins which tools' definitions wait to be accepted.
func (o Options) held(ctx context.Context) func([]*tool.Tool) ([]tool.ID, error) {
	if o.Pins == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // planning goes on as long as the toolset
	return func(tools []*tool.Tool) ([]tool.ID, error) {
		report, err := o.Pins.Check(ctx, tools)
		if err != nil {
			return nil, err
		}
		if o.Pins.Mode() != pin.Block {
			report.Changed = nil // told of, and called
		}
		return report.Held(), nil
	}
}

// noteApprovals has what is decided about a call recorded with it.
func noteApprovals(next call.Handler) call.Handler {
	note := func(ctx context.Context, n approval.Note) {
		transcript.NoteApproval(ctx, transcript.Approval{ID: n.ID, Decision: n.Decision, By: n.By})
	}
	return func(ctx context.Context, r call.Request) (*tool.Result, error) {
		return next(approval.WithNote(ctx, note), r)
	}
}

// watchHooks has what hooks replace recorded with the call, and logs why one gave
// no answer: only people may read all of that.
func (o Options) watchHooks() hook.Watch {
	w := hook.Watch{Failed: func(_ context.Context, f hook.Failure) {
		why := f.Err.Error()
		if o.Transcript != nil {
			why = o.Transcript.Redact(why)
		}
		o.Logger.Error("a hook gave no usable answer", "hook", f.Hook, "tool", f.Tool, "error", why)
	}}
	if o.Transcript != nil {
		w.Changed = func(ctx context.Context, c hook.Change) {
			transcript.NoteReplacement(ctx, transcript.Replacement{By: c.Hook, Args: c.Args})
		}
	}
	return w
}
