package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// booking is a tool that answers with details and counts its runs.
func booking(source tool.Source, input, output, details string, runs *int) *tool.Tool {
	t := &tool.Tool{
		ID: tool.NewID(source, "p", "book"), Source: source, Owner: "p", Name: "book", Input: tool.RawSchema(input),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			*runs++
			res := tool.TextResult("booked")
			res.Details = json.RawMessage(details)
			return res, nil
		}),
	}
	if output != "" {
		t.Output = tool.RawSchema(output)
	}
	return t
}

// Wrong arguments are answered with path, constraint and the schema, and
// the tool does not run, whoever's it is. A schema that is too long to
// be sent is named with the way to it.
func TestWrongArgumentsAreAnsweredWithTheSchema(t *testing.T) {
	const short = `{"type":"object","properties":{"stay":{"type":"object","properties":{"nights":{"type":"integer","minimum":1}}}}}`
	long := strings.Replace(short, `"minimum":1`, `"minimum":1,"description":"`+strings.Repeat("x", 20_000)+`"`, 1)
	schemas := schema.NewCache(8)
	for _, source := range []tool.Source{tool.OpenClaw, tool.MCP} {
		for _, input := range []string{short, long} {
			runs := 0
			_, err := call.New(call.ValidateInput(schemas)).Call(t.Context(), call.Request{
				Target: booking(source, input, "", "", &runs), Args: json.RawMessage(`{"stay":{"nights":0}}`),
			})
			e, ok := err.(*tool.Error)
			if !ok || e.Code != tool.CodeInvalidArgs || runs != 0 {
				t.Fatalf("%s: %v, %d runs", source, err, runs)
			}
			var got struct {
				Problems   []struct{ Pointer, Constraint, Message string }
				Parameters json.RawMessage
			}
			if err := json.Unmarshal(e.Details, &got); err != nil || len(got.Problems) != 1 {
				t.Fatalf("%s: %v, details %s", source, err, e.Details)
			}
			if p := got.Problems[0]; p.Pointer != "/stay/nights" || p.Constraint != "minimum" || !strings.Contains(e.Reason, "/stay/nights") {
				t.Errorf("%s: the problem is %+v, the reason %q", source, p, e.Reason)
			}
			switch {
			case input == short && string(got.Parameters) != short:
				t.Errorf("%s: the schema is %s, want %s", source, got.Parameters, short)
			case input == long && (got.Parameters != nil || !strings.Contains(e.Next, "tool_describe")):
				t.Errorf("%s: a schema of %d bytes was sent; next is %q", source, len(got.Parameters), e.Next)
			}
		}
	}
}

// A trusted tool is held to the output schema that it declares: a bad one is
// found before the tool runs, and an answer that breaks it, also one that a hook
// has made of it, is an error that says that side effects may have happened.
func TestDeclaredOutputs(t *testing.T) {
	const total = `{"type":"object","properties":{"total":{"type":"number"}},"required":["total"]}`
	const open = `{"type":"object"}`
	same := func(res *tool.Result) *tool.Result { return res }
	broken := func(res *tool.Result) *tool.Result {
		out := *res
		out.Details = json.RawMessage(`{"total":"a lot"}`)
		return &out
	}
	failed := func(res *tool.Result) *tool.Result {
		out := *broken(res)
		out.IsError = true
		return &out
	}
	for _, c := range []struct {
		name    string
		source  tool.Source
		output  string
		details string
		hook    func(*tool.Result) *tool.Result
		code    tool.Code
		runs    int
	}{
		{"fits", tool.OpenClaw, total, `{"total":1}`, same, "", 1},
		{"does not fit", tool.OpenClaw, total, `{"total":null}`, same, tool.CodeInvalidOutput, 1},
		{"no details", tool.OpenClaw, total, ``, same, tool.CodeInvalidOutput, 1},
		{"a hook breaks it", tool.OpenClaw, total, `{"total":1}`, broken, tool.CodeInvalidOutput, 1},
		{"the tool's own failure", tool.OpenClaw, total, `{"total":1}`, failed, "", 1},
		{"a bad schema", tool.OpenClaw, `{"type":"nonsense"}`, `{"total":1}`, same, tool.CodeBadSchema, 0},
		{"an MCP server's is its own affair", tool.MCP, `{"type":"nonsense"}`, `{}`, same, "", 1},
	} {
		runs := 0
		schemas := schema.NewCache(8)
		hook := func(next call.Handler) call.Handler {
			return func(ctx context.Context, r call.Request) (*tool.Result, error) {
				res, err := next(ctx, r)
				if err != nil {
					return nil, err
				}
				return c.hook(res), nil
			}
		}
		p := call.New(call.ValidateOutput(schemas), hook, call.ValidateInput(schemas))
		_, err := p.Call(t.Context(), call.Request{Target: booking(c.source, open, c.output, c.details, &runs)})
		if (err == nil) != (c.code == "") || err != nil && tool.CodeOf(err) != c.code || runs != c.runs {
			t.Errorf("%s: %v after %d runs, want %q after %d", c.name, err, runs, c.code, c.runs)
		}
		if c.code == tool.CodeInvalidOutput && !strings.Contains(err.Error(), "Side effects may have happened") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A server's schema that cannot be read here holds up no call: the server checks
// for itself. A plugin's does.
func TestInputSchemasThatDoNotCompile(t *testing.T) {
	for source, want := range map[tool.Source]tool.Code{tool.MCP: "", tool.OpenClaw: tool.CodeBadSchema} {
		runs := 0
		_, err := call.New(call.ValidateInput(schema.NewCache(8))).Call(t.Context(), call.Request{Target: booking(source, `{"type":"nonsense"}`, "", "", &runs)})
		if want == "" && (err != nil || runs != 1) || want != "" && (tool.CodeOf(err) != want || runs != 0) {
			t.Errorf("%s: %v after %d runs", source, err, runs)
		}
	}
}
