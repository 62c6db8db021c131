package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/transcript"
)

// Calls is what holds for every call, whoever makes it: an agent's section has
// none of it.
type Calls struct {
	Approvals  Approvals
	Hooks      []Hook      // in the order they run
	Pins       pin.Mode    // never ""
	Output     call.Limits // no field is 0
	Transcript Transcript  // no number is 0
}

// Transcript says what is kept of every call, and for how long.
type Transcript struct {
	MaxAge   time.Duration // of a record
	MaxBytes int64         // of the database file; the oldest records go first
	MaxBody  int           // bytes of arguments, and of a result, that are kept as text
	Redact   []string      // further names of members whose values are secret
}

// Bounds of the transcript. They lie within those of the store.
const (
	day                 = 24 * time.Hour
	defaultAgeDays      = 30
	maxAgeDays          = 3650
	defaultStoreBytes   = 512 << 20
	minStoreBytes       = 4 << 20
	maxStoreBytes       = 64 << 30
	maxRedactFields     = 256
	maxRedactFieldBytes = 128
)

// defaultCalls is what holds when the file says nothing.
func defaultCalls() Calls {
	return Calls{
		Approvals: Approvals{Core: approval.RuleAsk, Otherwise: approval.RuleAllow, Expiry: approval.DefaultExpiry},
		Pins:      pin.Block,
		Output: call.Limits{
			Chars: call.DefaultChars, ImageBytes: call.DefaultMediaBytes, AudioBytes: call.DefaultMediaBytes, BlobBytes: call.DefaultMediaBytes,
		},
		Transcript: Transcript{MaxAge: defaultAgeDays * day, MaxBytes: defaultStoreBytes, MaxBody: transcript.DefaultBody},
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
		part(row{Key: "transcript", Doc: "What is kept of every call, and for how long. See `tools.transcript` below."},
			transcriptSection(), func(t *toolsBlock) *Transcript { return &t.calls.Transcript }),
	}
}

func transcriptSection() section[Transcript] {
	return section[Transcript]{
		path: "tools.transcript",
		intro: "Every call is recorded, before it runs and when it has ended, in the user's state folder; `toolsearch sessions` shows it. " +
			"What is older or more than these bounds is deleted, the oldest first. Answered approvals go with it; approvals that wait, and pins, stay.",
		fields: []field[Transcript]{
			number(row{Key: "maxAgeDays", Default: fmt.Sprint(defaultAgeDays), Doc: "How long a record is kept, in days."},
				1, maxAgeDays, func(t *Transcript, v int64, _ Pos) { t.MaxAge = time.Duration(v) * day }),
			number(row{Key: "maxBytes", Default: fmt.Sprint(defaultStoreBytes), Doc: "The size of the database, in bytes."},
				minStoreBytes, maxStoreBytes, func(t *Transcript, v int64, _ Pos) { t.MaxBytes = v }),
			number(row{Key: "maxBodyBytes", Default: fmt.Sprint(transcript.DefaultBody), Doc: "How much of the arguments, and of the result, of a call is kept, in bytes. Of what is longer, its beginning, its size and a digest are kept."},
				transcript.MinBody, transcript.MaxBody, func(t *Transcript, v int64, _ Pos) { t.MaxBody = int(v) }),
			{row{Key: "redact", Type: "array of strings", Bounds: fmt.Sprintf("at most %d", maxRedactFields), Doc: "Further names of members whose values are not recorded, at any depth. Upper and lower case, `_`, `-`, `.` and space make no difference. Names such as `password`, `apiKey` and `token` are always taken out, and so are the values of servers' variables and headers."},
				readRedact},
		},
	}
}

func readRedact(r *reader, s spot, into *Transcript) {
	r.elems(s, maxRedactFields, func(e spot) {
		name, ok := r.text(e)
		if !ok {
			return
		}
		if name = strings.TrimSpace(name); len(name) > maxRedactFieldBytes || strings.Trim(name, "_-. ") == "" {
			r.fault(r.at(e), e.path, fmt.Sprintf("expected a member's name of 1–%d bytes", maxRedactFieldBytes), `such as "customerNumber"`)
			return
		}
		into.Redact = append(into.Redact, name)
	})
}

func outputSection() section[call.Limits] {
	size := func(key, what string, of func(*call.Limits) *int) field[call.Limits] {
		return number(row{Key: key, Default: fmt.Sprint(call.DefaultMediaBytes), Doc: "The largest " + what + ", in bytes. In place of a larger one stands a text that says so."},
			1, call.MaxMediaBytes, func(l *call.Limits, v int64, _ Pos) { *of(l) = int(v) })
	}
	return section[call.Limits]{
		path:  "tools.output",
		intro: "What a model gets of one result. What is cut says so, and `tool_call`, or `openclaw.tools.call` in mode `code`, pages through the rest. With tool search off there is nothing to page with; an MCP client then gets results as the servers sent them.",
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
