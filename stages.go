package toolsearch

import (
	"context"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
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
		stages = append(stages, o.Approval.StageUnder(o.Policy.Fingerprint()))
	} else {
		stages = append(stages, call.OnlyNamed(o.Policy.Named))
	}
	stages = append(stages, call.ValidateOutput(schemas))
	if o.Hooks != nil {
		stages = append(stages, o.Hooks.Stage(call.ValidateInput(schemas)))
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
