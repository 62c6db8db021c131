package cli_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to make a database of the future

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// kill ends the gateway as a crash does.
func (g *gateway) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		g.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, g.out)
	_ = g.cmd.Wait() // it was killed
}

// exported lists the calls of every session, as "sessions export" has them.
func (g *gateway) exported() (calls []recordedCall) {
	g.t.Helper()
	out, code := g.program("sessions", "list", "--json")
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &sessions); err != nil || code != 0 {
		g.t.Fatalf("sessions list: exit %d, %s", code, out)
	}
	for _, s := range sessions {
		out, code := g.program("sessions", "export", s.ID)
		if code != 0 {
			g.t.Fatalf("sessions export: exit %d, %s", code, out)
		}
		for line := range strings.Lines(out) {
			var c recordedCall
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				g.t.Fatalf("%v: %s", err, line)
			}
			if c.Type == "call" {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

type recordedCall struct {
	Type, Tool, Status string
	Control, Parent    string
	Arguments          struct{ Value json.RawMessage }
}

// Every call that was answered is in the transcript after kill -9, with its
// outcome.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	home := t.TempDir()
	g := startGateway(t, home, oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}))
	g.connect(false)
	const answered = 60
	for i := range answered {
		g.result("tools/call", toolCall("mcp:weather:echo", fmt.Sprintf(`{"n":%d}`, i)))
	}
	g.kill()
	calls := g.exported()
	if len(calls) != answered {
		t.Fatalf("%d calls are recorded, want the %d that were answered", len(calls), answered)
	}
	for i, c := range calls {
		if want := fmt.Sprintf(`{"n":%d}`, i); string(c.Arguments.Value) != want || c.Status != "ok" || c.Tool != "mcp:weather:echo" {
			t.Errorf("call %d is %+v, want %s", i, c, want)
		}
	}
}

// A call waits for an approval when the gateway is killed. The request is still
// there; once approved, the same call runs once in another gateway, and other
// arguments do not.
func TestRestartDuringPendingApproval(t *testing.T) {
	home := t.TempDir()
	config := with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}), `core:true,approvals:{waitMs:600000}`)
	write := toolCall("write", `{"path":"written.txt","content":"once"}`)
	g := startGateway(t, home, config)
	g.connect(false)
	g.start("tools/call", write)
	var pending []struct{ ID, State, Tool string }
	for len(pending) == 0 {
		out, code := g.program("approvals", "list", "--json")
		if err := json.Unmarshal([]byte(out), &pending); err != nil || code != 0 {
			t.Fatalf("approvals list: exit %d, %s", code, out)
		}
	}
	g.kill()
	if out, code := g.program("approvals", "approve", pending[0].ID); code != 0 || pending[0].Tool != "openclaw:core:write" {
		t.Fatalf("approve %+v: exit %d, %s", pending, code, out)
	}
	if _, err := os.Stat(filepath.Join(home, "written.txt")); err == nil {
		t.Fatal("the call ran without its gateway")
	}

	g = startGateway(t, home, strings.Replace(config, "waitMs:600000", "waitMs:0", 1))
	g.connect(false)
	if res := string(g.result("tools/call", toolCall("write", `{"path":"written.txt","content":"twice"}`))); !strings.Contains(res, "needs an approval") {
		t.Errorf("other arguments were taken for the approved ones: %s", res)
	}
	if res := string(g.result("tools/call", write)); strings.Contains(res, `"isError":true`) {
		t.Errorf("the approved call answered %s", res)
	}
	if text, err := os.ReadFile(filepath.Join(home, "written.txt")); err != nil || string(text) != "once" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	if res := string(g.result("tools/call", write)); !strings.Contains(res, "needs an approval") {
		t.Errorf("an approval was used twice: %s", res)
	}
	out, _ := g.program("sessions", "list", "--json", "--limit", "1")
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(out), &sessions); err != nil || len(sessions) != 1 {
		t.Fatalf("sessions list: %s", out)
	}
	if out, _ := g.program("sessions", "show", sessions[0].ID); strings.Count(out, "ok, approved by the user on the command line") != 1 {
		t.Errorf("the session does not say who approved the one call:\n%s", out)
	}
}

// A database of a newer version is refused by every verb that needs it, and no
// call is made; the file stays as it was.
func TestNewerSchemaIsRefused(t *testing.T) {
	home := t.TempDir()
	g := startGateway(t, home, oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}))
	g.connect(false)
	g.result("tools/call", toolCall("mcp:weather:echo", `{"n":1}`))
	g.stop()
	file := filepath.Join(home, "state", "toolsearch", "toolsearch.db")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA user_version = 999; CREATE TABLE of_the_future (x)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"call", "mcp:weather:echo", "--args", `{"n":2}`}, {"sessions", "list"}, {"approvals", "list"}, {"pins", "list"}, {"mcp"}, {"doctor"}} {
		out, code := g.program(verb...)
		if code != 1 || !strings.Contains(out, "written by a newer version") || !strings.Contains(out, "update toolsearch") || strings.Contains(out, `"n":2`) {
			t.Errorf("%v: exit %d, %s", verb, code, out)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// With a full disk under its state folder no call is answered as if it had been
// recorded, and the answer says why.
func TestFullDiskFailsClosed(t *testing.T) {
	if exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k x /mnt").Run() != nil {
		t.Skip("no small disk can be mounted here")
	}
	home := t.TempDir()
	g := &gateway{t: t, stderr: &bytes.Buffer{}}
	config := filepath.Join(home, "toolsearch.json5")
	text := oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}})
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.cmd = exec.Command("unshare", "-rm", "sh", "-c", `mkdir -p "$1/state" && mount -t tmpfs -o size=1m x "$1/state" && exec "$2" mcp --config "$3"`, "sh", home, exe, config)
	g.cmd.Env, g.cmd.Dir, g.cmd.Stderr = env(home), home, g.stderr
	g.startPiped()
	g.connect(false)
	// Fill it: each record holds what the transcript keeps of arguments and result.
	padding := strings.Repeat("x", 8000)
	var refused string
	for i := 0; i < 500 && refused == ""; i++ {
		res := string(g.result("tools/call", toolCall("mcp:weather:echo", fmt.Sprintf(`{"n":"call-%d","padding":%q}`, i, padding))))
		if strings.Contains(res, `"isError":true`) {
			refused = res
			if strings.Contains(res, fmt.Sprintf("call-%d", i)) {
				t.Errorf("an answer was given that is in no record: %.300s", res)
			}
		}
	}
	if !strings.Contains(refused, "the disk is full") || !strings.Contains(refused, "toolsearch doctor") {
		t.Fatalf("with a full disk the call answered %.500s; stderr:\n%s", refused, g.stderr)
	}
}
