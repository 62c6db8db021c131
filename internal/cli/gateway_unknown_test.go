package cli_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// A gateway does not wait for its servers. Once they have answered, it tells of
// the names in its rules that no tool bears, and of no others.
func TestGatewayTellsOfUnknownNames(t *testing.T) {
	home := t.TempDir()
	config := with(oneCommand(t, home, mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}}),
		`deny:["mcp:weather:leak"],allow:["mcp:weather:echo"],approvals:{rules:[{ask:["mcp:weather:ehco"]}]}`)
	file := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "mcp", "--config", file)
	cmd.Env, cmd.Dir = env(home), home
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var told []string
	for len(told) < 2 && lines.Scan() {
		if strings.Contains(lines.Text(), "matches no tool") {
			told = append(told, lines.Text())
		}
	}
	_ = in.Close()
	rest, _ := io.ReadAll(stderr) // until it has ended
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	all := strings.Join(told, "\n") + "\n" + string(rest)
	for _, want := range []string{`"mcp:weather:leak" matches no tool`, `tools.approvals.rules[0] (` + file + `:1): "mcp:weather:ehco" matches no tool`} {
		if strings.Count(all, want) != 1 {
			t.Errorf("want once %s in\n%s", want, all)
		}
	}
	if strings.Contains(all, "mcp:weather:echo") {
		t.Errorf("the gateway tells of a name that there is:\n%s", all)
	}
}
