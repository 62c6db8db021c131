package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// maxSchemaInError bounds, in bytes, the schema that an answer to invalid
// arguments carries, so that one retry suffices without flooding the model.
const maxSchemaInError = 16 << 10

// ValidateInput checks arguments against the target's own schema, before
// execution. A trusted tool whose schema does not compile never runs; an
// untrusted one runs unvalidated, since its server checks for itself.
//
// It may stand in a pipeline twice, before what asks people and after what may
// replace arguments: those that are still the same are not looked at again.
func ValidateInput(schemas *schema.Cache) Stage {
	return func(next Handler) Handler {
		return func(ctx context.Context, r Request) (*tool.Result, error) {
			if v, ok := ctx.Value(validKey{}).(*valid); ok && v.target == r.Target && bytes.Equal(v.args, r.Args) {
				return next(ctx, r)
			}
			if err := checkInput(schemas, r); err != nil {
				return nil, err
			}
			return next(context.WithValue(ctx, validKey{}, &valid{r.Target, bytes.Clone(r.Args)}), r)
		}
	}
}

func checkInput(schemas *schema.Cache, r Request) error {
	raw := r.Target.Input.JSON()
	compiled, err := schemas.Get(raw)
	switch {
	case err != nil && r.Target.Source.Trusted():
		return badSchema(r.Target, "input", err)
	case err != nil:
		return nil
	}
	err = compiled.Validate(r.Args)
	switch {
	case err == nil:
		return nil
	case r.ReplacedBy != "":
		return badReplacement(r, err)
	}
	return invalidArgs(r.Target, raw, err)
}

type validKey struct{}

// valid is what passed. The arguments are a copy: a stage between might write
// into the call's own.
type valid struct {
	target *tool.Tool
	args   []byte
}

func badSchema(t *tool.Tool, which string, err error) error {
	return &tool.Error{
		Code:   tool.CodeBadSchema,
		Reason: fmt.Sprintf("%s was not called: its %s schema does not compile: %v", t.ID, which, err),
		Next:   "Its plugin must be mended; use another tool.",
		Err:    err,
	}
}

// badReplacement is not the caller's to mend.
func badReplacement(r Request, err error) error {
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     r.ReplacedBy,
		Reason: fmt.Sprintf("%s was not called: the hook put other arguments in place of yours, and those are wrong: %v", r.Target.ID, err),
		Next:   "Nothing is wrong with your arguments. Tell the user that the hook must be mended.",
		Err:    err,
	}
}

func invalidArgs(t *tool.Tool, raw json.RawMessage, err error) error {
	e := &tool.Error{
		Code:   tool.CodeInvalidArgs,
		Reason: fmt.Sprintf("%s was not called: its arguments are wrong: %v", t.ID, err),
		Next:   "Mend them as the parameters schema says, and call again.",
		Err:    err,
	}
	var problems []schema.Problem
	var ve *schema.ValidationError
	if errors.As(err, &ve) {
		problems = ve.Problems
	}
	details := struct {
		Problems   []schema.Problem `json:"problems"`
		Parameters json.RawMessage  `json:"parameters,omitempty"`
	}{Problems: problems}
	if len(raw) <= maxSchemaInError {
		details.Parameters = raw
	} else {
		e.Next = "Read the tool's parameters, which tool_describe shows where it is offered, mend the arguments, and call again."
	}
	if b, err := tool.Encode(details); err == nil {
		e.Details = b
	}
	return e
}

// ValidateOutput holds a trusted tool to the output schema it declares. The
// schema is compiled before the target runs, so that a bad one has no side
// effects; the details are checked after everything else.
func ValidateOutput(schemas *schema.Cache) Stage {
	return func(next Handler) Handler {
		return func(ctx context.Context, r Request) (*tool.Result, error) {
			if r.Target.Output == nil || !r.Target.Source.Trusted() {
				return next(ctx, r)
			}
			compiled, err := schemas.Get(r.Target.Output.JSON())
			if err != nil {
				return nil, badSchema(r.Target, "output", err)
			}
			res, err := next(ctx, r)
			if err != nil || res == nil || res.IsError {
				return res, err
			}
			details := res.Details
			if len(details) == 0 {
				details = json.RawMessage("null")
			}
			if err := compiled.Validate(details); err != nil {
				return nil, &tool.Error{
					Code:   tool.CodeInvalidOutput,
					Reason: fmt.Sprintf("%s ran, but its answer breaks its own output schema: %v", r.Target.ID, err),
					Next:   "Side effects may have happened: check before you repeat it.",
					Err:    err,
				}
			}
			return res, nil
		}
	}
}
