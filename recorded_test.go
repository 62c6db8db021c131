package toolsearch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// outcomes is a recorder that keeps how calls ended.
type outcomes struct {
	mu   sync.Mutex
	list []transcript.Outcome
}

func (o *outcomes) Begin(context.Context, transcript.Intent) (transcript.Ref, error) { return 1, nil }

func (o *outcomes) End(_ context.Context, _ transcript.Ref, out transcript.Outcome) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, out)
	return nil
}

// secretValue stands for what a configuration holds and no record may.
const secretValue = "s3cr3t-of-the-house"

// recorded makes a set with a transcript, a gate and one hook, calls send, and
// returns how that is recorded.
func recorded(t *testing.T, opt toolsearch.Options, h hook.Hook, answer approval.Decision) transcript.Outcome {
	t.Helper()
	var err error
	rec := &outcomes{}
	opt.Transcript, err = transcript.New(transcript.Config{
		Recorder: rec, Redactor: transcript.NewRedactor(transcript.RedactorConfig{Secrets: []string{secretValue}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	rules, _, err := approval.Compile(approval.RuleSet{Rules: []approval.Rule{{Action: approval.RuleAsk, Tools: []policy.Entry{{Pattern: "send"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	opt.Approval, err = approval.New(approval.Options{Rules: rules, Routes: []approval.Route{
		approval.RouteFunc(func(context.Context, approval.Request) (approval.Decision, error) { return answer, nil }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if opt.Hooks, _, err = hook.New([]hook.Hook{h}, hook.AskerFunc(opt.Approval.AskFor)); err != nil {
		t.Fatal(err)
	}
	send, _ := letter()
	opt.Tools = []*tool.Tool{send}
	set := newSet(t, opt)
	_, _ = set.Call(t.Context(), "send", json.RawMessage(`{"to":"ann"}`)) // the record is what counts
	if len(rec.list) != 1 {
		t.Fatalf("%d outcomes are recorded", len(rec.list))
	}
	return rec.list[0]
}

// Who approved of a call is in its record, without a word of the program that
// put the gate and the transcript together.
func TestTheApprovalIsRecordedWithTheCall(t *testing.T) {
	idle := hook.Hook{Name: "idle", Event: hook.Before, Runner: hook.Func(func(context.Context, *hook.Input) (hook.Decision, error) {
		return hook.Decision{Verdict: hook.Continue}, nil
	})}
	for want, answer := range map[string]approval.Decision{
		"approved": {Answer: approval.Allow, By: "ann at the desk"},
		"denied":   {Answer: approval.Deny, By: "ann at the desk"},
	} {
		got := recorded(t, toolsearch.Options{}, idle, answer).Approval
		if got.ID == "" || got.Decision != want || got.By != "ann at the desk" {
			t.Errorf("recorded is %+v, want a call %s by ann at the desk", got, want)
		}
	}
}

// What ran is in the record where a hook made another call of it, and so is that
// the result is not the tool's own.
func TestWhatHooksReplaceIsRecorded(t *testing.T) {
	allow := approval.Decision{Answer: approval.Allow, By: "ann"}
	replace := func(e hook.Event, d hook.Decision) hook.Hook {
		return hook.Hook{Name: "swap", Event: e, Runner: hook.Func(func(context.Context, *hook.Input) (hook.Decision, error) { return d, nil })}
	}
	for name, c := range map[string]struct {
		hook   hook.Hook
		status transcript.Status
		want   string
	}{
		"arguments": {
			replace(hook.Before, hook.Decision{Verdict: hook.Replace, Args: json.RawMessage(`{"to":"bob","note":"` + secretValue + `"}`)}), transcript.StatusOK,
			`the hook "swap" put other arguments in place: {"to":"bob","note":"[redacted]"}`,
		},
		"wrong arguments": {
			replace(hook.Before, hook.Decision{Verdict: hook.Replace, Args: json.RawMessage(`{"to":1}`)}), transcript.StatusBlocked,
			`; the hook "swap" put other arguments in place: {"to":1}`,
		},
		"result": {
			replace(hook.After, hook.Decision{Verdict: hook.Replace, Result: &hook.Result{Content: []tool.Content{tool.Text("other")}}}), transcript.StatusOK,
			`the hook "swap" put another result in place of the tool's`,
		},
	} {
		got := recorded(t, toolsearch.Options{}, c.hook, allow)
		if got.Status != c.status || !strings.HasSuffix(got.Reason, c.want) {
			t.Errorf("%s: recorded is %q with the reason %q, want %q", name, got.Status, got.Reason, c.want)
		}
	}
}

// Why a hook gave no answer is in the log, for whoever has to mend it, without
// the secrets; in the record, which a model's user may see, is that it did not.
func TestAFailingHookIsLoggedWithItsCause(t *testing.T) {
	command, err := hook.Command(hook.CommandConfig{Command: []string{"sh", "-c", "echo no such key " + secretValue + " >&2; exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	out := recorded(t, toolsearch.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		hook.Hook{Name: "guard", Event: hook.Before, Runner: command}, approval.Decision{Answer: approval.Allow})
	for _, want := range []string{"hook=guard", "tool=openclaw:desk:send", "no such key [redacted]"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
	if strings.Contains(log.String(), secretValue) || strings.Contains(out.Reason, "no such key") {
		t.Errorf("too much is told: %s, %q", &log, out.Reason)
	}
	if want := `the hook "guard" gave no usable answer: it ended with exit status 3`; !strings.HasSuffix(out.Reason, want) {
		t.Errorf("the reason is %q, want …%q", out.Reason, want)
	}
}
