package config

import (
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/pin"
)

// Calls is what holds for every call, whoever makes it: an agent's section has
// none of it.
type Calls struct {
	Approvals Approvals
	Hooks     []Hook      // in the order they run
	Pins      pin.Mode    // never ""
	Output    call.Limits // no field is 0
}

// defaultCalls is what holds when the file says nothing.
func defaultCalls() Calls {
	return Calls{
		Approvals: Approvals{Core: approval.RuleAsk, Otherwise: approval.RuleAllow, Expiry: approval.DefaultExpiry},
		Pins:      pin.Block,
		Output: call.Limits{
			Chars: call.DefaultChars, ImageBytes: call.DefaultMediaBytes, AudioBytes: call.DefaultMediaBytes, BlobBytes: call.DefaultMediaBytes,
		},
	}
}

// callFields are the keys of tools that hold for every call.
func callFields() []field[toolsBlock] {
	return []field[toolsBlock]{
		part(row{Key: "approvals", Doc: "Which calls a person has to approve. See `tools.approvals` below."},
			approvalsSection(), func(t *toolsBlock) *Approvals { return &t.calls.Approvals }),
		{row{Key: "hooks", Type: "array of objects", Doc: "Programs or endpoints that are asked about every call, in this order. See `tools.hooks[]` below."},
			func(r *reader, s spot, into *toolsBlock) { readHooks(r, s, &into.calls.Hooks) }},
		choice(row{Key: "pins", Default: "`block`", Doc: "What happens to a tool whose definition its MCP server has changed since it was first seen. `block`: it is not called until `toolsearch pins accept`. `warn`: it is called, and the change is reported. `off`: nothing is remembered."},
			[]string{string(pin.Block), string(pin.Warn), string(pin.Off)}, func(t *toolsBlock, v string, _ Pos) { t.calls.Pins = pin.Mode(v) }),
		part(row{Key: "output", Doc: "How much of a result a model reads. See `tools.output` below."},
			outputSection(), func(t *toolsBlock) *call.Limits { return &t.calls.Output }),
	}
}

func outputSection() section[call.Limits] {
	size := func(key, what string, of func(*call.Limits) *int) field[call.Limits] {
		return number(row{Key: key, Default: fmt.Sprint(call.DefaultMediaBytes), Doc: "The largest " + what + ", in bytes. In place of a larger one stands a text that says so."},
			1, call.MaxMediaBytes, func(l *call.Limits, v int64, _ Pos) { *of(l) = int(v) })
	}
	return section[call.Limits]{
		path:  "tools.output",
		intro: "What a model gets of one result. A text that is cut says so, and `tool_call` pages through the rest.",
		fields: []field[call.Limits]{
			number(row{Key: "maxChars", Default: fmt.Sprint(call.DefaultChars), Doc: "Characters of text, notes included."},
				call.MinChars, call.MaxChars, func(l *call.Limits, v int64, _ Pos) { l.Chars = int(v) }),
			size("maxImageBytes", "image", func(l *call.Limits) *int { return &l.ImageBytes }),
			size("maxAudioBytes", "recording", func(l *call.Limits) *int { return &l.AudioBytes }),
			size("maxBlobBytes", "embedded file", func(l *call.Limits) *int { return &l.BlobBytes }),
		},
	}
}

// millis is a field that holds a time in milliseconds.
func millis[T any](r row, low, high time.Duration, of func(*T) *time.Duration) field[T] {
	return number(r, low.Milliseconds(), high.Milliseconds(), func(t *T, v int64, _ Pos) { *of(t) = time.Duration(v) * time.Millisecond })
}
