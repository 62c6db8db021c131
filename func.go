package toolsearch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolsearch/toolsearch/tool"
)

// Func makes a tool of a Go function. plugin and name become its id,
// openclaw:plugin:name. The input schema is inferred from In, which must be a
// struct or a map; json tags name the properties, jsonschema tags describe
// them, and omitempty or omitzero makes one optional. A function that returns a
// string answers with text; any other Out is answered as JSON and declared as
// the output schema.
//
// An error of fn becomes a result that the model can read; wrap a *tool.Error
// to say what to do next. fn must be safe for concurrent use.
func Func[In, Out any](plugin, name, description string, fn func(context.Context, In) (Out, error)) (*tool.Tool, error) {
	if plugin == "" || name == "" || fn == nil {
		return nil, fmt.Errorf("make a tool of a function: plugin %q, name %q: both and a function are required", plugin, name)
	}
	input, err := schemaOf[In]()
	if err != nil {
		return nil, fmt.Errorf("make tool %s of a function: input: %w", name, err)
	}
	t := &tool.Tool{
		ID:     tool.NewID(tool.OpenClaw, plugin, name),
		Source: tool.OpenClaw, Owner: plugin, Name: name, Description: description,
		Input: tool.RawSchema(input),
	}
	if reflect.TypeFor[Out]().Kind() != reflect.String {
		output, err := schemaOf[Out]()
		if err != nil {
			return nil, fmt.Errorf("make tool %s of a function: output: %w", name, err)
		}
		t.Output = tool.RawSchema(output)
	}
	sum := sha256.Sum256([]byte(string(t.ID) + "\x00" + description + "\x00" + string(input)))
	t.Revision = hex.EncodeToString(sum[:8])
	t.Invoker = tool.InvokerFunc(func(ctx context.Context, c tool.Call) (*tool.Result, error) {
		var in In
		dec := json.NewDecoder(bytes.NewReader(c.Args))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return nil, &tool.Error{
				Code: tool.CodeInvalidArgs, Err: err,
				Reason: fmt.Sprintf("%s was not called: cannot read its arguments: %v", t.ID, err),
				Next:   "Mend them as the parameters schema says, and call again.",
			}
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		if text, ok := any(out).(string); ok {
			return tool.TextResult(text), nil
		}
		return tool.JSONResult(out)
	})
	return t, nil
}

func schemaOf[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return tool.Encode(s)
}
