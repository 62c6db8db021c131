package hook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

const goOn = `{"decision":"continue"}`

// wrong are the ways of a hook not to answer, and what a refusal says of them.
func wrong(t *testing.T) map[string]struct {
	runner hook.Runner
	says   string
} {
	type entry = struct {
		runner hook.Runner
		says   string
	}
	serve := func(h http.HandlerFunc) hook.Runner {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		r, err := hook.HTTP(hook.HTTPConfig{URL: srv.URL + "/hook?token=secret-detail"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	body := func(text string) hook.Runner {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		})
	}
	function := func(f func(context.Context) (hook.Decision, error)) hook.Runner {
		return hook.Func(func(ctx context.Context, _ *hook.Input) (hook.Decision, error) { return f(ctx) })
	}
	nobody, err := hook.HTTP(hook.HTTPConfig{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer t.Cleanup(func() { close(stop) }) // runs before the servers wait for their handlers
	return map[string]entry{
		"command exits with 3":     {command(t, "say-and-fail", goOn), "exit status 3"},
		"command panics":           {command(t, "panic"), "exit status 2"},
		"command is killed":        {command(t, "suicide"), "signal: killed"},
		"command says nothing":     {command(t, "say", ""), "empty"},
		"command says garbage":     {command(t, "say", "yes, go on"), "not one JSON document"},
		"command says two things":  {command(t, "say", goOn+goOn), "not one JSON document"},
		"command says an array":    {command(t, "say", `[`+goOn+`]`), "expected a JSON object"},
		"command says null":        {command(t, "say", `null`), "expected a JSON object"},
		"no decision":              {command(t, "say", `{}`), `decision ""`},
		"unknown decision":         {command(t, "say", `{"decision":"allow"}`), `decision "allow"`},
		"decision in capitals":     {command(t, "say", `{"Decision":"continue"}`), `unknown member "Decision"`},
		"decision of a wrong type": {command(t, "say", `{"decision":true}`), "expected a string"},
		"decision twice":           {command(t, "say", `{"decision":"block","decision":"continue"}`), "stands twice"},
		"unknown member":           {command(t, "say", `{"decision":"continue","force":true}`), "unknown member"},
		"continue with args":       {command(t, "say", `{"decision":"continue","args":{}}`), "does not go with"},
		"command floods stdout":    {command(t, "flood"), "printed too much"},
		"command floods stderr":    {command(t, "flood-stderr"), "printed too much"},
		"endpoint is not there":    {nobody, "could not be reached"},
		"endpoint says 500":        {serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, goOn, 500) }), "status 500"},
		"endpoint redirects": {serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}), "status 307"},
		"endpoint closes":          {serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "could not be reached"},
		"endpoint breaks off":      {serve(breakOff), "broke off"},
		"endpoint answers HTML":    {serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }), "not application/json"},
		"endpoint answers garbage": {body("{"), "not one JSON document"},
		"endpoint floods":          {serve(flood), "longer than"},
		"function fails": {function(func(context.Context) (hook.Decision, error) {
			return hook.Decision{Verdict: hook.Continue}, errors.New("secret detail")
		}), "it failed"},
		"function panics":          {function(func(context.Context) (hook.Decision, error) { panic("secret detail") }), "panicked"},
		"function decides nothing": {function(func(context.Context) (hook.Decision, error) { return hook.Decision{}, nil }), `decision ""`},
		"function contradicts": {function(func(context.Context) (hook.Decision, error) {
			return hook.Decision{Verdict: hook.Continue, Note: "x"}, nil
		}), "does not go with"},
		"hangs: command":                {command(t, "hang"), "nothing came within"},
		"hangs: command after deciding": {command(t, "say-and-hang", goOn), "nothing came within"},
		"hangs: endpoint":               {serve(func(_ http.ResponseWriter, r *http.Request) { <-stop }), "nothing came within"},
		"hangs: function deaf to ctx":   {function(func(context.Context) (hook.Decision, error) { <-stop; return hook.Decision{}, nil }), "nothing came within"},
	}
}

func flood(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
			return
		}
	}
}

func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, goOn)
}

// timeout is short for hooks that hang, and long for the others: they are
// judged by what they do and not by how fast this machine is.
func timeout(name string) time.Duration {
	if strings.HasPrefix(name, "hangs") {
		return 300 * time.Millisecond
	}
	return time.Minute
}

func TestWrongAnswersBlock(t *testing.T) {
	for name, tt := range wrong(t) {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			p := pipeline(t, nil, hook.Hook{Name: "guard", Event: hook.Before, Runner: tt.runner, Timeout: timeout(name)})
			_, err := p.Call(t.Context(), request(s.target(tool.MCP, "srv", "send")))
			var te *tool.Error
			if !errors.As(err, &te) || te.Code != tool.CodeBlocked || te.By != "guard" || te.Next == "" {
				t.Fatalf("the call is not blocked by the hook: %#v", err)
			}
			if !strings.Contains(te.Reason, tt.says) || !strings.Contains(te.Reason, "mcp:srv:send was not called") {
				t.Errorf("the reason is %q, want it to say %q", te.Reason, tt.says)
			}
			raw, err := te.MarshalJSON()
			if err != nil || strings.Contains(strings.ReplaceAll(string(raw), "-", " "), "secret detail") {
				t.Errorf("a model reads what is for logs: %s (%v)", raw, err)
			}
			if s.runs != 0 {
				t.Error("the target ran")
			}
		})
	}
}

func TestWrongAnswersAfterwards(t *testing.T) {
	for name, tt := range wrong(t) {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			p := pipeline(t, nil, hook.Hook{Name: "censor", Event: hook.After, Runner: tt.runner, Timeout: timeout(name)})
			res, err := p.Call(t.Context(), request(s.target(tool.MCP, "srv", "send")))
			var te *tool.Error
			if !errors.As(err, &te) || te.Code != tool.CodeFailed || te.By != "censor" || res != nil {
				t.Fatalf("got %v, %#v; want an error by the hook alone", res, err)
			}
			if s.runs != 1 || !strings.Contains(te.Reason, "mcp:srv:send ran") || !strings.Contains(te.Next, "Side effects may have happened") {
				t.Errorf("after %d runs the error says %q, %q", s.runs, te.Reason, te.Next)
			}
		})
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	for _, mode := range []string{"leave", "leave-and-hang"} {
		t.Run(mode, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s := &spy{}
			p := pipeline(t, nil, hook.Hook{Name: "guard", Event: hook.Before, Runner: command(t, mode, l.Addr().String()), Timeout: time.Minute})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = p.Call(ctx, request(s.target(tool.MCP, "srv", "send")))
			}()
			if mode == "leave" { // the process was there before its parent ended
				<-done
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			if said, err := r.ReadString('\n'); said != "held\n" {
				t.Fatalf("the process that the hook started says %q, %v", said, err)
			}
			cancel()
			<-done
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the process that the hook started is still there: %v", err)
			}
		})
	}
}

func TestDecisionsBefore(t *testing.T) {
	tests := []struct {
		name, answer string
		args         string // what the target gets, "" when it must not run
		says         string
	}{
		{"continue", goOn, `{"n":12345678901234567890}`, ""},
		{"continue with a reason", `{"decision":"continue","reason":"fine"}`, `{"n":12345678901234567890}`, ""},
		{"replace", `{"decision":"replace","args":{"n":98765432109876543210}}`, `{"n":98765432109876543210}`, ""},
		{"block", ` {"decision":"block","reason":"not on\u200b Sundays"} `, "", "not on Sundays"},
		{"block without a reason", `{"decision":"block"}`, "", "no reason given"},
		{"ask with nobody to ask", `{"decision":"ask","reason":"large sum"}`, "", "large sum"},
		{"replace with no object", `{"decision":"replace","args":[1]}`, "", "expected a JSON object"},
		{"replace that says a thing twice", `{"decision":"replace","args":{"a":1,"a":2}}`, "", "stands twice"},
		{"replace without args", `{"decision":"replace"}`, "", "does not go with"},
		{"replace a result", `{"decision":"replace","result":{"content":[]}}`, "", "does not go with"},
		{"annotate", `{"decision":"annotate","note":"x"}`, "", "no answer to before_tool_call; expected continue, block, ask or replace"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, r.Header.Get("X-Answer"))
	}))
	defer srv.Close()
	for _, tt := range tests {
		endpoint, err := hook.HTTP(hook.HTTPConfig{URL: srv.URL, Header: http.Header{"X-Answer": {tt.answer}}})
		if err != nil {
			t.Fatal(err)
		}
		for kind, runner := range map[string]hook.Runner{"command": command(t, "say", tt.answer), "deaf command": command(t, "deaf", tt.answer), "endpoint": endpoint} {
			t.Run(tt.name+" by "+kind, func(t *testing.T) {
				s := &spy{}
				p := pipeline(t, nil, hook.Hook{Name: "guard", Event: hook.Before, Runner: runner, Timeout: time.Minute})
				_, err := p.Call(t.Context(), request(s.target(tool.OpenClaw, "core", "exec")))
				if s.args != tt.args || (err == nil) != (tt.args != "") {
					t.Fatalf("the target got %q (%v), want %q", s.args, err, tt.args)
				}
				if err != nil && (!strings.Contains(err.Error(), tt.says) || tool.CodeOf(err) != tool.CodeBlocked) {
					t.Errorf("the refusal says %q, want %q", err, tt.says)
				}
			})
		}
	}
}

func TestDecisionsAfter(t *testing.T) {
	tests := []struct {
		name, answer string
		text         string // of the result
		says         string // of the error
	}{
		{"continue", goOn, "token=abc", ""},
		{"replace", `{"decision":"replace","result":{"content":[{"type":"text","text":"token=***"}],"details":{"ok":true}}}`, "token=***", ""},
		{"annotate", `{"decision":"annotate","note":"checked"}`, "token=abc\n[censor] checked", ""},
		{"block", `{"decision":"block","reason":"secret"}`, "", "withholds its result: secret"},
		{"ask", `{"decision":"ask"}`, "", "no answer to after_tool_call; expected continue, block, replace or annotate"},
		{"replace args", `{"decision":"replace","args":{}}`, "", "does not go with"},
		{"replace without content", `{"decision":"replace","result":{}}`, "", "content is missing"},
		{"replace with a lie", `{"decision":"replace","result":{"content":[{"type":"text"}]}}`, "", "text must be a string"},
		{"replace with an unknown block", `{"decision":"replace","result":{"content":[{"type":"script","text":"x"}]}}`, "", "unknown"},
		{"replace with an unknown member", `{"decision":"replace","result":{"content":[],"raw":1}}`, "", "unknown member"},
		{"annotate with nothing", `{"decision":"annotate","note":""}`, "", "does not go with"},
		{"annotate at length", `{"decision":"annotate","note":"` + strings.Repeat("x", hook.MaxNote+1) + `"}`, "", "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := json.RawMessage(`{"content":[{"type":"text","text":"token=abc","x":1}],"structuredContent":{"token":"abc"},"_meta":{"k":[1]}}`)
			res, err := tool.ParseMCPResult(raw)
			if err != nil {
				t.Fatal(err)
			}
			s := &spy{res: res}
			p := pipeline(t, nil, hook.Hook{Name: "censor", Event: hook.After, Runner: command(t, "say", tt.answer), Timeout: time.Minute})
			got, err := p.Call(t.Context(), request(s.target(tool.MCP, "srv", "read")))
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "Side effects") {
					t.Errorf("got %v, %v; want an error with %q", got, err, tt.says)
				}
				return
			}
			if err != nil || got.Text() != tt.text {
				t.Fatalf("the model reads %q (%v), want %q", got.Text(), err, tt.text)
			}
			if got.Raw != nil { // what passes results through whole must pass the same on
				again, err := tool.ParseMCPResult(got.Raw)
				if err != nil || again.Text() != tt.text || !strings.Contains(string(got.Raw), `"_meta":{"k":[1]}`) || !strings.Contains(string(got.Raw), `"x":1`) {
					t.Errorf("the raw result is %s (%v)", got.Raw, err)
				}
			} else if strings.Contains(string(got.Details), "abc") {
				t.Errorf("the replaced result still holds %s", got.Details)
			}
			if res.Text() != "token=abc" {
				t.Error("the hook changed the target's own result")
			}
		})
	}
}

func TestWhatAHookReads(t *testing.T) {
	var got struct {
		Version int             `json:"version"`
		Event   string          `json:"event"`
		Tool    map[string]any  `json:"tool"`
		Args    json.RawMessage `json:"args"`
		Origin  map[string]any  `json:"origin"`
		Result  *struct {
			Content []map[string]any `json:"content"`
			IsError bool             `json:"isError"`
		} `json:"result"`
	}
	for _, event := range []hook.Event{hook.Before, hook.After} {
		s := &spy{res: &tool.Result{Content: []tool.Content{tool.Text("oops")}, IsError: true}}
		p := pipeline(t, nil, hook.Hook{Name: "echo", Event: event, Runner: command(t, "echo"), Timeout: time.Minute})
		r := request(s.target(tool.MCP, "srv", "send"))
		r.Origin = call.Origin{Session: "s1", Caller: "ann"} // short, so that the echo fits into a reason
		_, err := p.Call(t.Context(), r)
		if err == nil {
			t.Fatal("the echo did not block")
		}
		_, doc, _ := strings.Cut(err.Error(), ": {")
		doc = "{" + doc[:strings.LastIndex(doc, "}")+1]
		if err := json.Unmarshal([]byte(doc), &got); err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if got.Version != 1 || got.Event != string(event) || string(got.Args) != `{"n":12345678901234567890}` ||
			got.Tool["id"] != "mcp:srv:send" || got.Tool["name"] != "send" || got.Tool["source"] != "mcp" || got.Tool["owner"] != "srv" ||
			got.Origin["session"] != "s1" || got.Origin["caller"] != "ann" {
			t.Errorf("the hook reads %s", doc)
		}
		if (got.Result != nil) != (event == hook.After) {
			t.Errorf("%s: the hook reads the result %v", event, got.Result)
		}
		if got.Result != nil && (!got.Result.IsError || got.Result.Content[0]["text"] != "oops") {
			t.Errorf("the hook reads the result %v", got.Result)
		}
	}
}

func TestEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("TOOLSEARCH_TEST_SECRET", "hunter2")
	t.Setenv("LANG", "() { :; }; echo owned")
	p := pipeline(t, nil, hook.Hook{Name: "env", Event: hook.Before, Runner: command(t, "env"), Timeout: time.Minute})
	_, err := p.Call(t.Context(), request((&spy{}).target(tool.MCP, "srv", "send")))
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "owned") || !strings.Contains(err.Error(), "GORACE=") {
		t.Errorf("the hook's environment is %v", err)
	}
}

func TestOrderAndAsking(t *testing.T) {
	var order []string
	step := func(name string, d hook.Decision) hook.Hook {
		return hook.Hook{Name: name, Event: hook.Before, Runner: hook.Func(func(_ context.Context, in *hook.Input) (hook.Decision, error) {
			order = append(order, name+string(in.Args))
			return d, nil
		})}
	}
	hooks := []hook.Hook{
		step("a", hook.Decision{Verdict: hook.Ask, Reason: "sum"}),
		step("b", hook.Decision{Verdict: hook.Replace, Args: json.RawMessage(`{"x":1}`)}),
		step("c", hook.Decision{Verdict: hook.Ask, Reason: "new friend"}),
	}
	var asked []string
	asker := hook.AskerFunc(func(_ context.Context, r call.Request, reason string) error {
		asked = append(asked, string(r.Args)+" "+reason)
		return nil
	})
	s := &spy{}
	if _, err := pipeline(t, asker, hooks...).Call(t.Context(), request(s.target(tool.MCP, "srv", "pay"))); err != nil {
		t.Fatal(err)
	}
	if want := `a{"n":12345678901234567890} b{"n":12345678901234567890} c{"x":1}`; strings.Join(order, " ") != want {
		t.Errorf("the hooks ran as %q, want %q", order, want)
	}
	if len(asked) != 1 || asked[0] != `{"x":1} sum; new friend` || s.args != `{"x":1}` {
		t.Errorf("a person was asked %q about a call with %s; want once, about the arguments that run", asked, s.args)
	}

	// A later hook that blocks spares the person the question.
	asked = nil
	blocked := append(hooks[:2:2], step("d", hook.Decision{Verdict: hook.Block}))
	if _, err := pipeline(t, asker, blocked...).Call(t.Context(), request(s.target(tool.MCP, "srv", "pay"))); err == nil || asked != nil {
		t.Errorf("got %v after asking %q", err, asked)
	}

	// A person's no is passed on, and an asker that fails blocks.
	no := &tool.Error{Code: tool.CodeBlocked, By: "approval", Reason: "ann said no"}
	for _, answer := range []error{no, errors.New("the store is gone")} {
		failing := hook.AskerFunc(func(context.Context, call.Request, string) error { return answer })
		s := &spy{}
		_, err := pipeline(t, failing, hooks...).Call(t.Context(), request(s.target(tool.MCP, "srv", "pay")))
		if tool.CodeOf(err) != tool.CodeBlocked || !errors.Is(err, answer) || s.runs != 0 {
			t.Errorf("an asker that says %v leads to %v and %d runs", answer, err, s.runs)
		}
	}
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		source  tool.Source
		owner   string
		name    string
		match   bool
	}{
		{"exec", tool.OpenClaw, "core", "exec", true},
		{"EXEC", tool.OpenClaw, "core", "exec", true},
		{"bash", tool.OpenClaw, "core", "exec", true}, // an alias
		{"exec", tool.OpenClaw, "core", "read", false},
		{"exec", tool.MCP, "evil", "exec", true}, // in doubt the hook is asked
		{"exec", tool.MCP, "evil", "EX\u212Aec", false},
		{"kick", tool.MCP, "evil", "\u212Aick", true}, // the Kelvin sign
		{"send_*", tool.MCP, "mail", "Send_Now", true},
		{"mcp:mail:*", tool.MCP, "mail", "send", true},
		{"mcp:mail:*", tool.MCP, "mailer", "send", false},
		{"mcp:mail", tool.MCP, "mail", "send", true},
		{"bundle-mcp", tool.MCP, "x", "y", true},
		{"bundle-mcp", tool.OpenClaw, "core", "read", false},
		{"*", tool.Client, "client", "pick", true},
		{"", tool.Client, "client", "pick", true},
	}
	for _, tt := range tests {
		asked := false
		h := hook.Hook{Name: "h", Event: hook.Before, Runner: hook.Func(func(context.Context, *hook.Input) (hook.Decision, error) {
			asked = true
			return hook.Decision{Verdict: hook.Continue}, nil
		})}
		if tt.pattern != "" {
			h.Tools = []policy.Entry{{Pattern: tt.pattern}}
		}
		if _, err := pipeline(t, nil, h).Call(t.Context(), request((&spy{}).target(tt.source, tt.owner, tt.name))); err != nil {
			t.Fatal(err)
		}
		if asked != tt.match {
			t.Errorf("%q and %s:%s:%s: asked = %v, want %v", tt.pattern, tt.source, tt.owner, tt.name, asked, tt.match)
		}
	}
}

// A hook of several patterns is asked where one of them matches.
func TestSeveralPatterns(t *testing.T) {
	var asked []string
	h := hook.Hook{Name: "h", Event: hook.Before, Tools: []policy.Entry{{Pattern: "read"}, {Pattern: "mcp:mail:*"}}, Runner: hook.Func(func(_ context.Context, in *hook.Input) (hook.Decision, error) {
		asked = append(asked, in.Tool.Name)
		return hook.Decision{Verdict: hook.Continue}, nil
	})}
	for _, id := range [][3]string{{"openclaw", "core", "read"}, {"openclaw", "core", "exec"}, {"mcp", "mail", "send"}} {
		if _, err := pipeline(t, nil, h).Call(t.Context(), request((&spy{}).target(tool.Source(id[0]), id[1], id[2]))); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"read", "send"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}

func TestNewRefuses(t *testing.T) {
	ok := hook.Func(func(context.Context, *hook.Input) (hook.Decision, error) {
		return hook.Decision{Verdict: hook.Continue}, nil
	})
	for name, h := range map[string]hook.Hook{
		"no name":       {Event: hook.Before, Runner: ok},
		"a bad name":    {Name: "a b", Event: hook.Before, Runner: ok},
		"no event":      {Name: "a", Runner: ok},
		"nothing":       {Name: "a", Event: hook.Before},
		"short timeout": {Name: "a", Event: hook.Before, Runner: ok, Timeout: time.Millisecond},
		"long timeout":  {Name: "a", Event: hook.Before, Runner: ok, Timeout: time.Hour},
		"a bad pattern": {Name: "a", Event: hook.Before, Runner: ok, Tools: []policy.Entry{{Pattern: strings.Repeat("*a", 100)}}},
	} {
		if _, _, err := hook.New([]hook.Hook{h}, nil); err == nil {
			t.Errorf("a hook with %s is accepted", name)
		}
	}
	twice := hook.Hook{Name: "a", Event: hook.Before, Runner: ok}
	if _, _, err := hook.New([]hook.Hook{twice, twice}, nil); err == nil {
		t.Error("two hooks of one name are accepted")
	}
	many := make([]hook.Hook, hook.MaxHooks+1)
	for i := range many {
		many[i] = hook.Hook{Name: fmt.Sprint("h", i), Event: hook.Before, Runner: ok}
	}
	if _, _, err := hook.New(many, nil); err == nil {
		t.Errorf("%d hooks are accepted", len(many))
	}
	for _, url := range []string{"", "ftp://x/", "http://", "://"} {
		if _, err := hook.HTTP(hook.HTTPConfig{URL: url}); err == nil {
			t.Errorf("the address %q is accepted", url)
		}
	}
	for _, c := range []hook.CommandConfig{{}, {Command: []string{"no-such-program-here"}}, {Command: []string{"go"}, Env: []string{"X"}}} {
		if _, err := hook.Command(c); err == nil {
			t.Errorf("the command %+v is accepted", c)
		}
	}
}

func TestCancelledCallsAreNotBlocked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := hook.Hook{Name: "slow", Event: hook.Before, Runner: hook.Func(func(ctx context.Context, _ *hook.Input) (hook.Decision, error) {
		cancel()
		<-ctx.Done()
		return hook.Decision{}, ctx.Err()
	})}
	s := &spy{}
	_, err := pipeline(t, nil, h).Call(ctx, request(s.target(tool.MCP, "srv", "send")))
	if tool.CodeOf(err) != tool.CodeCancelled || s.runs != 0 {
		t.Errorf("a cancelled call ends in %v after %d runs", err, s.runs)
	}
}

func FuzzDecision(f *testing.F) {
	for _, seed := range []string{goOn, `{"decision":"replace","args":{"a":1}}`, `{"decision":"replace","result":{"content":[{"type":"text","text":"x"}]}}`,
		`{"decision":"block","reason":"\ud800"}`, `{"decision":"annotate","note":"x"}`, `[]`, `{"decision":"continue"}x`} {
		f.Add(seed)
	}
	answer := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	f.Cleanup(srv.Close)
	runner, err := hook.HTTP(hook.HTTPConfig{URL: srv.URL})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer = text
		s := &spy{}
		p := pipeline(t, nil, hook.Hook{Name: "h", Event: hook.Before, Runner: runner}, hook.Hook{Name: "i", Event: hook.After, Runner: hook.Func(
			func(context.Context, *hook.Input) (hook.Decision, error) {
				return hook.Decision{Verdict: hook.Continue}, nil
			})})
		_, err := p.Call(t.Context(), request(s.target(tool.MCP, "srv", "send")))
		var d struct {
			Decision string          `json:"decision"`
			Args     json.RawMessage `json:"args"`
		}
		allowed := json.Unmarshal([]byte(text), &d) == nil && (d.Decision == "continue" || d.Decision == "replace")
		if s.runs > 0 && !allowed {
			t.Fatalf("%q let the call through", text)
		}
		if s.runs > 0 && !json.Valid([]byte(s.args)) {
			t.Fatalf("%q became the arguments %q", text, s.args)
		}
		if (err == nil) != (s.runs == 1) {
			t.Fatalf("%d runs and the error %v", s.runs, err)
		}
	})
}

// BenchmarkStage compares a call past one Go hook with one without hooks, and with
// one past a command.
func BenchmarkStage(b *testing.B) {
	run := func(n int, p *call.Pipeline, r call.Request) time.Duration {
		start := time.Now()
		for range n {
			if _, err := p.Call(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start) / time.Duration(n)
	}
	r := request((&spy{}).target(tool.MCP, "srv", "send"))
	function := hook.Hook{Name: "f", Event: hook.Before, Tools: []policy.Entry{{Pattern: "send*"}}, Runner: hook.Func(
		func(context.Context, *hook.Input) (hook.Decision, error) {
			return hook.Decision{Verdict: hook.Continue}, nil
		})}
	bare := call.New()
	staged := pipeline(b, nil, function)
	program := pipeline(b, nil, hook.Hook{Name: "c", Event: hook.Before, Runner: command(b, "say", goOn), Timeout: time.Minute})
	var without, with, spawned time.Duration
	for b.Loop() {
		without += run(1000, bare, r)
		with += run(1000, staged, r)
		spawned += run(1, program, r)
	}
	b.ReportMetric(float64(with-without)/float64(b.N), "ns/func")
	b.ReportMetric(float64(spawned-without)/float64(b.N), "ns/command")
	b.ReportMetric(float64(with)/float64(without), "func×bare")
}
