package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// Where the rules leave nothing, a served run waits for the servers and then fails,
// every time; the log tells of it once.
func TestServeWithNothingAllowed(t *testing.T) {
	base, stop, err := mock.New(mock.Agent()).Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	s := runServe(t, `{tools: {allow: ["nosuch"]}, mcp: {servers: {`+serverConfig(t, "weather", mcptest.Script{})+`}},
  agents: {list: [{id: "other", tools: {toolSearch: {mode: "directory"}}}]},
  models: {default: "chat/m", providers: {chat: {baseUrl: "`+base+`", api: "openai-completions", models: [{id: "m"}]}}},
  serve: {listen: "127.0.0.1:0", keys: [{name: "ci", key: "${CI_KEY}"}, {name: "coder", key: "${CODER_KEY}", agent: "other"}]}}`)
	for _, key := range []string{ciKey, coderKey, ciKey} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(`{"model":"default","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode < 400 || strings.Contains(string(body), "You said") {
			t.Errorf("answered %d %s, want an error", resp.StatusCode, body)
		}
	}
	s.stop()
	if n := strings.Count(s.stderr.String(), "planning failed"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, s.stderr)
	}
}

// A gateway stays up with no tool, and says so once.
func TestGatewayWithNothingAllowed(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "toolsearch.json5")
	config := `{tools: {allow: ["nosuch"]}, mcp: {servers: {` + serverConfig(t, "weather", mcptest.Script{}) + `}}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, cmd: exec.Command(exe, "mcp", "--config", file)}
	g.cmd.Env, g.cmd.Dir = env(home), home
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.startPiped()
	lines := bufio.NewReader(stderr)
	told, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(told, "leaves no tool") {
		t.Errorf("the first line is %q (%v), want the error", told, err)
	}
	_ = g.in.Close()
	rest, _ := io.ReadAll(lines) // until it has ended
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(rest), "leaves no tool") {
		t.Errorf("told again:\n%s", rest)
	}
}
