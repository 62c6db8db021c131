package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// tape is a Recorder in memory that can fail.
type tape struct {
	mu       sync.Mutex
	events   []string
	intents  []transcript.Intent
	outcomes []transcript.Outcome
	beginErr error
	endErr   error
}

func (r *tape) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, what)
}

func (r *tape) Begin(_ context.Context, in transcript.Intent) (transcript.Ref, error) {
	r.note("begin")
	r.intents = append(r.intents, in)
	return transcript.Ref(len(r.intents)), r.beginErr
}

func (r *tape) End(ctx context.Context, ref transcript.Ref, out transcript.Outcome) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.note(fmt.Sprintf("end %d", ref))
	r.outcomes = append(r.outcomes, out)
	return r.endErr
}

// pipeline records on r the calls of a tool that runs f.
func pipeline(t *testing.T, r *tape, f tool.InvokerFunc, inner ...call.Stage) (*call.Pipeline, *tool.Tool) {
	t.Helper()
	tr, err := transcript.New(transcript.Config{Recorder: r, MaxBody: 1000})
	if err != nil {
		t.Fatal(err)
	}
	target := &tool.Tool{ID: "mcp:s:t", Source: tool.MCP, Owner: "s", Name: "t", Input: tool.RawSchema(`{}`), Invoker: f}
	return call.New(append([]call.Stage{tr.Stage()}, inner...)...), target
}

func answer(text string) tool.InvokerFunc {
	return func(context.Context, tool.Call) (*tool.Result, error) { return tool.TextResult(text), nil }
}

func TestOrderOfRecords(t *testing.T) {
	r := &tape{}
	p, target := pipeline(t, r, func(context.Context, tool.Call) (*tool.Result, error) {
		r.note("run")
		return tool.TextResult("done"), nil
	})
	if _, err := p.Call(t.Context(), call.Request{Target: target}); err != nil {
		t.Fatal(err)
	}
	r.note("answered")
	if got := strings.Join(r.events, ", "); got != "begin, run, end 1, answered" {
		t.Errorf("the order was %s", got)
	}
}

func TestNoIntentNoCall(t *testing.T) {
	r := &tape{beginErr: errors.New("disk on fire at /home/ann")}
	p, target := pipeline(t, r, func(context.Context, tool.Call) (*tool.Result, error) {
		t.Error("the tool ran")
		return tool.TextResult(""), nil
	})
	_, err := p.Call(t.Context(), call.Request{Target: target})
	var te *tool.Error
	if !errors.As(err, &te) || te.Code != tool.CodeFailed || !errors.Is(err, r.beginErr) {
		t.Fatalf("the call returned %v", err)
	}
	if strings.Contains(te.Error(), "/home") {
		t.Errorf("a model reads %q", te.Error())
	}
}

func TestNoOutcomeNoAnswer(t *testing.T) {
	r := &tape{endErr: errors.New("disk on fire")}
	p, target := pipeline(t, r, answer("done"))
	res, err := p.Call(t.Context(), call.Request{Target: target})
	if res != nil || err == nil || !strings.Contains(err.Error(), "Side effects may have happened") {
		t.Errorf("the call returned %v, %v", res, err)
	}
	p, target = pipeline(t, r, answer("done"), call.Refuse(func(*tool.Tool) *tool.Error {
		return &tool.Error{Code: tool.CodeBlocked, Reason: "no", By: "policy"}
	}))
	if _, err = p.Call(t.Context(), call.Request{Target: target}); err == nil || !strings.Contains(err.Error(), "was not called") {
		t.Errorf("a blocked call returned %v", err)
	}
}

func TestStatusOfOutcomes(t *testing.T) {
	block := func(e *tool.Error) call.Stage { return call.Refuse(func(*tool.Tool) *tool.Error { return e }) }
	fail := func(err error) tool.InvokerFunc {
		return func(context.Context, tool.Call) (*tool.Result, error) { return nil, err }
	}
	for _, c := range []struct {
		name   string
		run    tool.InvokerFunc
		stages []call.Stage
		status transcript.Status
		code   tool.Code
		by     string
	}{
		{"ok", answer("done"), nil, transcript.StatusOK, "", ""},
		{"the tool's own failure", func(context.Context, tool.Call) (*tool.Result, error) {
			return &tool.Result{Content: []tool.Content{tool.Text("no such file")}, IsError: true}, nil
		}, nil, transcript.StatusError, "", ""},
		{"blocked", answer(""), []call.Stage{block(&tool.Error{Code: tool.CodeBlocked, Reason: "no", By: "policy"})}, transcript.StatusBlocked, tool.CodeBlocked, "policy"},
		{"unknown", answer(""), []call.Stage{block(&tool.Error{Code: tool.CodeUnknownTool, Reason: "no"})}, transcript.StatusRefused, tool.CodeUnknownTool, ""},
		{"failed", fail(errors.New("pipe broke")), nil, transcript.StatusFailed, tool.CodeFailed, ""},
		{"late", fail(context.DeadlineExceeded), nil, transcript.StatusFailed, tool.CodeTimeout, ""},
		{"neither", fail(nil), nil, transcript.StatusFailed, tool.CodeFailed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &tape{}
			p, target := pipeline(t, r, c.run, c.stages...)
			_, _ = p.Call(t.Context(), call.Request{Target: target}) // the record is what counts
			if len(r.outcomes) != 1 {
				t.Fatalf("%d outcomes", len(r.outcomes))
			}
			if out := r.outcomes[0]; out.Status != c.status || out.Code != c.code || out.By != c.by {
				t.Errorf("the outcome is %q %q by %q, want %q %q by %q", out.Status, out.Code, out.By, c.status, c.code, c.by)
			}
		})
	}
}

func TestACancelledCallIsRecorded(t *testing.T) {
	r := &tape{}
	ctx, cancel := context.WithCancel(t.Context())
	p, target := pipeline(t, r, func(ctx context.Context, _ tool.Call) (*tool.Result, error) {
		cancel()
		return nil, ctx.Err()
	})
	if _, err := p.Call(ctx, call.Request{Target: target}); tool.CodeOf(err) != tool.CodeCancelled {
		t.Errorf("the call returned %v", err)
	}
	if len(r.outcomes) != 1 || r.outcomes[0].Status != transcript.StatusCancelled {
		t.Errorf("the outcomes are %+v", r.outcomes)
	}
}

func TestWhatIsRecorded(t *testing.T) {
	r := &tape{}
	var seen string
	note := func(next call.Handler) call.Handler {
		return func(ctx context.Context, req call.Request) (*tool.Result, error) {
			seen = req.Origin.CallID
			transcript.NoteApproval(ctx, transcript.Approval{ID: "a1", Decision: "approved", By: "ann"})
			return next(ctx, req)
		}
	}
	p, target := pipeline(t, r, answer(strings.Repeat("é", 2000)+" password=hunter2"), note)
	args := json.RawMessage(`{"token":"t1","city":"Bern"}`)
	origin := call.Origin{Session: "s", Agent: "coder", Caller: "ann", Control: "tool_call", Parent: "p1"}
	for range 2 {
		if _, err := p.Call(t.Context(), call.Request{Target: target, Args: args, Origin: origin}); err != nil {
			t.Fatal(err)
		}
	}
	in, out := r.intents[1], r.outcomes[1]
	if in.Call == "" || in.Call != seen || in.Call == r.intents[0].Call || in.Run == "" || in.Session != "s" {
		t.Errorf("the ids are %+v, the stages below saw %q", in, seen)
	}
	if in.Target != "mcp:s:t" || in.Source != tool.MCP || in.Owner != "s" || in.Name != "t" || in.Agent != "coder" || in.Caller != "ann" || in.Control != "tool_call" || in.Parent != "p1" {
		t.Errorf("the intent is %+v", in)
	}
	if string(in.Args.Text) != `{"token":"[redacted]","city":"Bern"}` || in.Args.Digest != "" {
		t.Errorf("the arguments are %s", in.Args.Text)
	}
	if out.Approval != (transcript.Approval{ID: "a1", Decision: "approved", By: "ann"}) {
		t.Errorf("the approval is %+v", out.Approval)
	}
	b := out.Result
	if len(b.Text) > 1000 || len(b.Text) < 996 || b.Size < 4000 || !strings.HasPrefix(b.Digest, "sha256:") || strings.ToValidUTF8(string(b.Text), "") != string(b.Text) {
		t.Errorf("a large result is recorded as %d of %d bytes, digest %q", len(b.Text), b.Size, b.Digest)
	}
}

func TestCallsWithoutARunShareOne(t *testing.T) {
	tr, err := transcript.New(transcript.Config{Recorder: &tape{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want call.Origin }{
		{call.Origin{Session: "s", Run: "r"}, call.Origin{Session: "s", Run: "r"}},
		{call.Origin{Run: "r"}, call.Origin{Session: "r", Run: "r"}},
	} {
		if k := tr.Key(c.in); k.Session != c.want.Session || k.Run != c.want.Run {
			t.Errorf("the key of %+v is %+v", c.in, k)
		}
	}
	if a, b := tr.Key(call.Origin{}), tr.Key(call.Origin{}); a != b || a.Run == "" || a.Session != a.Run {
		t.Errorf("the keys of nothing are %+v and %+v", a, b)
	}
	if k := tr.Key(call.Origin{Session: strings.Repeat("x", 10_000) + "\x1b[2J"}); len(k.Session) > 300 || strings.Contains(k.Session, "\x1b") {
		t.Errorf("a hostile session id is kept: %q", k.Session)
	}
}

func TestReasonIsCutBehindTheSecretsInIt(t *testing.T) {
	const secret = "a-secret-of-the-house-0123456789"
	rec := &tape{}
	tr, err := transcript.New(transcript.Config{
		Recorder: rec, Redactor: transcript.NewRedactor(transcript.RedactorConfig{Secrets: []string{secret}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{1, 8, 23, len(secret), 100} { // bytes of the secret before the bound
		fails := tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
			return nil, errors.New(strings.Repeat("x", tool.MaxErrorText-room) + secret)
		})
		target := &tool.Tool{ID: "mcp:a:b", Source: tool.MCP, Owner: "a", Name: "b", Invoker: fails}
		if _, err := call.New(tr.Stage()).Call(t.Context(), call.Request{Target: target}); err == nil {
			t.Fatal("the call did not fail")
		}
		reason := rec.outcomes[len(rec.outcomes)-1].Reason
		if strings.Contains(reason, secret[:4]) || len(reason) > tool.MaxErrorText+len("…") {
			t.Errorf("with %d bytes left the reason ends with %q", room, reason[tool.MaxErrorText-60:])
		}
	}
}
