package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// approvalChild makes the test binary call a tool that needs an approval, as a
// process of its own over the store in XDG_STATE_HOME.
const approvalChild = "TOOLSEARCH_TEST_APPROVAL_CHILD"

// TestApprovalChild is that process. It prints "asked ID", then "ran" or the
// refusal.
func TestApprovalChild(t *testing.T) {
	mode := os.Getenv(approvalChild)
	if mode == "" {
		t.Skip("runs as a child of other tests")
	}
	a := &app{std: newStreams(os.Stdin, os.Stdout, os.Stderr)}
	s, done, err := openApprovals(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	opt := gateOptions{redactor: transcript.NewRedactor(transcript.RedactorConfig{})}
	if mode == "wait" {
		opt.wait = time.Hour
	}
	gate, err := a.newGate(announcing{s}, opt)
	if err != nil {
		t.Fatal(err)
	}
	destructive := true
	target := &tool.Tool{
		ID: "openclaw:core:exec", Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: "exec",
		Annotations: tool.Annotations{Destructive: &destructive}, Input: tool.RawSchema(`{}`),
		Invoker: tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) { return tool.TextResult("ran"), nil }),
	}
	res, err := call.New(gate.Stage()).Call(t.Context(), call.Request{Target: target, Args: json.RawMessage(os.Getenv(approvalChild + "_ARGS"))})
	if err != nil {
		fmt.Println("refused", err)
		return
	}
	fmt.Println(res.Text())
}

// announcing prints the id of each request as soon as it stands.
type announcing struct{ approval.Store }

func (a announcing) Put(ctx context.Context, r approval.Record) error {
	err := a.Store.Put(ctx, r)
	if err == nil {
		fmt.Println("asked", r.ID)
	}
	return err
}

type child struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, mode, args string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], "-test.run=^TestApprovalChild$")}
	c.cmd.Env = append(os.Environ(), approvalChild+"="+mode, approvalChild+"_ARGS="+args)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = c.cmd.Stdout
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	})
	return c
}

// line returns the next line that begins with the word, without it.
func (c *child) line(word string) string {
	c.t.Helper()
	for c.out.Scan() {
		if rest, ok := strings.CutPrefix(c.out.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	c.t.Fatalf("the child ended without %q", word)
	return ""
}

func (c *child) wait() {
	for c.out.Scan() { // the rest of its output
	}
	_ = c.cmd.Wait()
}

// approvalState gives the test a state folder of its own.
func approvalState(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
}

// approvals runs one command line.
func approvals(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	std := newStreams(strings.NewReader(""), &out, &errs)
	c := newApprovals(&app{std: std})
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SilenceErrors, c.SilenceUsage = true, true
	if err := c.ExecuteContext(context.Background()); err != nil {
		printError(std, err)
		code = exitCode(err)
	}
	return out.String(), errs.String(), code
}

func mustApprovals(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := approvals(args...)
	if code != 0 {
		t.Fatalf("approvals %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// A process that asked is killed; another one approves; a third repeats the call.
func TestApprovalOutlivesTheProcess(t *testing.T) {
	approvalState(t)
	const args = `{"command":"make"}`
	first := startChild(t, "wait", args)
	id := first.line("asked")
	if says, want := first.line("waiting for approval of "), "openclaw:core:exec: toolsearch approvals show "+id; says != want {
		t.Errorf("while it waits it says %q, want %q", says, want)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.wait()

	var listed []struct {
		ID, State, Tool string
		Args            json.RawMessage
	}
	if err := json.Unmarshal([]byte(mustApprovals(t, "list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed) != 1 || listed[0].ID != id || listed[0].State != "pending" || string(listed[0].Args) != args {
		t.Fatalf("list: %+v", listed)
	}
	if out := mustApprovals(t, "show", id); !strings.Contains(out, "openclaw:core:exec") || !strings.Contains(out, `command: "make"`) {
		t.Errorf("show: %s", out)
	}
	if out := mustApprovals(t, "approve", id); out != "approved "+id+"\n" {
		t.Errorf("approve: %s", out)
	}
	for i, want := range []string{"ran", "refused"} { // the second finds it used
		c := startChild(t, "now", args)
		c.line(want)
		c.wait()
		if i == 0 {
			if out := mustApprovals(t, "show", id); !strings.Contains(out, ": used") {
				t.Errorf("after its use: %s", out)
			}
		}
	}
}

// A call that waits goes on as soon as another process answers.
func TestApprovalWhileTheCallWaits(t *testing.T) {
	for verb, want := range map[string]string{"approve": "ran", "deny": "refused"} {
		t.Run(verb, func(t *testing.T) {
			approvalState(t)
			c := startChild(t, "wait", `{}`)
			mustApprovals(t, verb, c.line("asked"), "--reason", "as I say")
			if rest := c.line(want); verb == "deny" && !strings.Contains(rest, "as I say") {
				t.Errorf("the refusal lacks the reason: %s", rest)
			}
			c.wait()
		})
	}
}

func TestApprovalScopesOnTheCommandLine(t *testing.T) {
	approvalState(t)
	c := startChild(t, "now", `{"n":1}`)
	id := c.line("asked")
	c.wait()
	mustApprovals(t, "approve", id, "--for", "pattern")
	other := startChild(t, "now", `{"n":2}`)
	other.line("ran")
	other.wait()
	// It can be taken back.
	mustApprovals(t, "deny", id)
	again := startChild(t, "now", `{"n":3}`)
	again.line("refused")
	again.wait()
}

// An approval of one call may be used as long as its request stood, which is
// tools.approvals.expiryMs.
func TestApprovalCountsAsLongAsItsRequest(t *testing.T) {
	approvalState(t)
	s, done, err := openApprovals(t.Context(), &app{std: newStreams(os.Stdin, os.Stdout, os.Stderr)})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	const expiry = 2 * time.Hour
	now := time.Now()
	err = s.Put(t.Context(), approval.Record{
		ID: "r1", Created: now, Expires: now.Add(expiry), Tool: "openclaw:core:exec", Digest: "sha256:1", Args: json.RawMessage(`{}`),
		PolicyVersion: "1", State: approval.Pending, Scope: approval.Once,
	})
	if err != nil {
		t.Fatal(err)
	}
	mustApprovals(t, "approve", "r1")
	r, err := s.Get(t.Context(), "r1")
	if err != nil || r.Expires.Before(now.Add(expiry)) || r.Expires.After(time.Now().Add(expiry)) {
		t.Errorf("%v; the approval counts for %v, want %v", err, r.Expires.Sub(now), expiry)
	}
}

// What an approval keeps of the call holds no secret: the program's gate takes
// them out.
func TestApprovalKeepsNoSecret(t *testing.T) {
	approvalState(t)
	c := startChild(t, "now", `{"password":"hunter2","path":"a.txt"}`)
	id := c.line("asked")
	c.wait()
	for _, args := range [][]string{{"show", id}, {"show", id, "--json"}, {"list"}} {
		if out := mustApprovals(t, args...); strings.Contains(out, "hunter2") || !strings.Contains(out, "a.txt") {
			t.Errorf("approvals %q prints %s", args, out)
		}
	}
}

// The session of a call on the command line is its process: an approval for it
// is worth no more, and the person who gives it is told.
func TestApprovalForTheSessionOfAProcess(t *testing.T) {
	approvalState(t)
	c := startChild(t, "now", `{}`)
	id := c.line("asked")
	c.wait()
	if _, errs, code := approvals("approve", id, "--for", "session"); code != 0 || !strings.Contains(errs, "its session is the process that asked") {
		t.Errorf("exit code %d, %q; want a note about the session", code, errs)
	}
	again := startChild(t, "now", `{}`)
	again.line("refused")
	again.wait()
}

func TestApprovalsCommandLineErrors(t *testing.T) {
	approvalState(t)
	c := startChild(t, "now", `{}`)
	id := c.line("asked")
	c.wait()
	for name, x := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown id":     {[]string{"approve", "nosuchthing"}, ExitFailed, "approvals list"},
		"unknown scope":  {[]string{"approve", id, "--for", "ever"}, ExitUsage, "once, session or pattern"},
		"lone pattern":   {[]string{"approve", id, "--pattern", "exec"}, ExitUsage, "--for pattern"},
		"bad pattern":    {[]string{"approve", id, "--for", "pattern", "--pattern", strings.Repeat("*", 600)}, ExitUsage, "pattern"},
		"other tools":    {[]string{"approve", id, "--for", "pattern", "--pattern", "mcp:files:*"}, ExitUsage, "does not match openclaw:core:exec"},
		"show of no one": {[]string{"show", "nosuchthing"}, ExitFailed, "no approval"},
	} {
		if _, errs, code := approvals(x.args...); code != x.code || !strings.Contains(errs, x.want) {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, x.code, errs)
		}
	}
	mustApprovals(t, "deny", id)
	if _, errs, code := approvals("approve", id); code != ExitFailed || !strings.Contains(errs, "denied already") {
		t.Errorf("a denied request was approved: %d %s", code, errs)
	}
}

// The adapter keeps the promises of approval.Store.
func TestApprovalStoreAdapter(t *testing.T) {
	approvalState(t)
	s, done, err := openApprovals(t.Context(), &app{std: newStreams(strings.NewReader(""), os.Stdout, os.Stderr)})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := s.Get(t.Context(), "none"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
	now := time.Now().Round(0)
	r := approval.Record{
		ID: "a1", Created: now, Expires: now.Add(time.Minute), Caller: "ann", Agent: "main", Session: "s", Run: "r",
		Tool: "mcp:s:t", Digest: "sha256:00", Folder: "/home/ann", Args: json.RawMessage(`{"a":9007199254740993}`), PolicyVersion: "p",
		State: approval.Pending, Scope: approval.Once, Reason: "why",
	}
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), r); err == nil {
		t.Error("an id was given twice")
	}
	got, err := s.Get(t.Context(), "a1")
	if err != nil || string(got.Args) != string(r.Args) || got.Folder != r.Folder || !got.Created.Equal(now) || !got.Expires.Equal(r.Expires) || !got.Decided.IsZero() {
		t.Errorf("read back %+v, %v", got, err)
	}
	use := approval.Change{From: approval.Pending, To: approval.Used, Scope: approval.Once, DecidedBy: "x", At: now}
	late := use
	late.At = r.Expires
	for i, c := range []struct {
		change approval.Change
		want   bool
	}{{late, false}, {use, true}, {use, false}} {
		if ok, err := s.Change(t.Context(), "a1", c.change); ok != c.want || err != nil {
			t.Errorf("change %d: %v, %v", i, ok, err)
		}
	}
	if got, _ = s.Get(t.Context(), "a1"); got.State != approval.Used || got.Reason != "why" || !got.Decided.Equal(now) {
		t.Errorf("after its use: %+v", got)
	}
}

// The key is made once, and is its owner's alone.
func TestApprovalKey(t *testing.T) {
	approvalState(t)
	s, done, err := (&app{std: newStreams(strings.NewReader(""), os.Stdout, os.Stderr)}).openStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = approvalKey(s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != approval.KeySize || !bytes.Equal(k, keys[0]) || bytes.Equal(k, make([]byte, approval.KeySize)) {
			t.Fatalf("keys differ or are empty: %x %x", k, keys[0])
		}
	}
	path := filepath.Join(filepath.Dir(s.Path()), approvalKeyName)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := approvalKey(s); err == nil {
		t.Error("a damaged key was taken")
	}
}
