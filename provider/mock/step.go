package mock

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// Step is the answer to one request.
type Step struct {
	Thinking string
	Text     string
	// Calls are what the model calls. A call without an ID gets one. Args that are
	// a JSON string are text that is not JSON: they go out as they are.
	Calls []provider.Call
	// Stop is why the model ends; "" follows from Calls.
	Stop provider.Stop
	// Usage is what the answer cost; zero means an estimate of a token for four
	// bytes.
	Usage provider.Usage
	// Delay is the time before each token of Thinking and Text: a word with the
	// space behind it. An answer that is not streamed takes as long as all of them.
	Delay time.Duration
	Fault Fault
}

// Fault is what goes wrong with an answer. The zero Fault is none.
type Fault struct {
	// Status is answered in place of the step, with Message, and with RetryAfter
	// as the header of that name unless it is "".
	Status     int
	Message    string
	RetryAfter string
	// Cut breaks the connection after so many bytes of the body. A negative one
	// breaks it before the headers.
	Cut int
	// SplitBytes writes and flushes each byte of the body alone.
	SplitBytes bool
	// Hang keeps silent behind the texts of a stream until the client is gone;
	// without a text, and when the answer is not streamed, not even headers come.
	Hang bool
	// SameIndex gives all calls index 0 in a stream of Chat Completions, as some
	// servers do with parallel calls. It means nothing elsewhere.
	SameIndex bool
	// Frames are sent in place of what the step says, in a stream; Body is, when
	// the answer is whole.
	Frames []provider.Frame
	Body   []byte
}

// Text is a step that answers with a text.
func Text(text string) Step { return Step{Text: text} }

// Call is a step that calls one tool. args is a JSON object.
func Call(name, args string) Step {
	return Step{Calls: []provider.Call{{Name: name, Args: []byte(args)}}}
}

// BadArguments is a step that calls a tool with arguments that are not JSON,
// such as `{"city": "Os`.
func BadArguments(name, text string) Step {
	raw, err := tool.Encode(text)
	if err != nil { // not of a string
		raw = []byte(`""`)
	}
	return Call(name, string(raw))
}

// Status is a step that refuses a request.
func Status(code int, retryAfter string) Step {
	return Step{Fault: Fault{Status: code, RetryAfter: retryAfter, Message: fmt.Sprintf("the script answers %d", code)}}
}

// response is the whole answer to request n, of the given size.
func (s Step) response(x *Exchange) *provider.Response {
	r := &provider.Response{ID: fmt.Sprintf("mock-%d", x.N), Model: x.Request.Model, Stop: s.Stop, Usage: s.Usage}
	m := provider.Message{Role: provider.Assistant}
	size := len(s.Thinking) + len(s.Text)
	if s.Thinking != "" {
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.Thinking, Text: s.Thinking})
	}
	if s.Text != "" {
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.Text, Text: s.Text})
	}
	for i, c := range s.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", x.N, i+1)
		}
		size += len(c.Name) + len(c.Args)
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.ToolCall, Call: c})
	}
	r.Output = []provider.Message{m}
	if r.Stop == "" {
		r.Stop = provider.StopEnd
		if len(s.Calls) > 0 {
			r.Stop = provider.StopCalls
		}
	}
	if r.Usage == (provider.Usage{}) {
		r.Usage = provider.Usage{Input: (len(x.Body) + 3) / 4, Output: (size + 3) / 4}
	}
	return r
}

// malformed reports a call whose arguments are text and not JSON.
func (s Step) malformed() bool {
	return slices.ContainsFunc(s.Calls, func(c provider.Call) bool { return bytes.HasPrefix(c.Args, []byte{'"'}) })
}

// tokens splits a text behind its spaces.
func tokens(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}
