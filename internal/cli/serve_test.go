package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
)

const (
	ciKey    = "ci-key-0123456789abcdef"
	robotKey = "robot-key-0123456789abcdef"
	coderKey = "coder-key-0123456789abcdef"
)

// served is the program, serving.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	url    string
	models []string
	keys   int
}

// startServe runs "toolsearch serve" with a mock model behind it: providers
// chat, responses and messages, and agents main, robot and coder.
func startServe(t *testing.T, script mock.Script) (*served, *mock.Server) {
	t.Helper()
	return startServeWith(t, script, mcptest.Script{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"echo","description":"Weather forecast for a place","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":false}}`),
	}})
}

// startServeWith has another MCP server than that with the weather, under its name.
func startServeWith(t *testing.T, script mock.Script, weather mcptest.Script) (*served, *mock.Server) {
	t.Helper()
	model := mock.New(script)
	base, stop, err := model.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	s := runServe(t, `{
  tools: {toolSearch: {mode: "tools"}, toolsBySender: {eve: {deny: ["mcp:weather"]}}, toolsByGroup: {lab: {deny: ["mcp:weather"]}},
    sandbox: {tools: {deny: ["mcp:weather"]}}, subagents: {tools: {deny: ["mcp:weather"]}}}, mcp: {servers: {`+serverConfig(t, "weather", weather)+`}},
  telemetry: {enabled: true},
  agents: {list: [{id: "main"}, {id: "robot", tools: {deny: ["mcp:weather"]}}, {id: "coder", tools: {toolSearch: {mode: "code"}}}]},
  models: {default: "chat/m", aliases: {fast: "messages/m"}, providers: {
    chat: {baseUrl: "`+base+`", api: "openai-completions", apiKey: "${MODEL_KEY}", models: [{id: "m"}]},
    responses: {baseUrl: "`+base+`", api: "openai-responses", models: [{id: "m"}]},
    messages: {baseUrl: "`+base+`", api: "anthropic-messages", models: [{id: "m", maxTokens: 1000}]},
  }},
  serve: {listen: "127.0.0.1:0", keys: [{name: "ci", key: "${CI_KEY}", metrics: true}, {name: "robot", key: "${ROBOT_KEY}", agent: "robot"}, {name: "coder", key: "${CODER_KEY}", agent: "coder"},
    {name: "eve", key: "key-of-eve-0123456789", sender: "eve"}, {name: "lab", key: "key-of-lab-0123456789", group: "lab"},
    {name: "boxed", key: "key-of-boxed-0123456789", sandbox: true}, {name: "child", key: "key-of-child-0123456789", subagent: true}]},
}`)
	if s.keys != 7 {
		t.Fatalf("it has %d keys", s.keys)
	}
	return s, model
}

// runServe runs "toolsearch serve" with a configuration.
func runServe(t *testing.T, config string) *served {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "toolsearch.json5"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return serveIn(t, home)
}

// serveIn runs "toolsearch serve" in a folder that has a configuration.
func serveIn(t *testing.T, home string) *served {
	t.Helper()
	file := filepath.Join(home, "toolsearch.json5")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, stderr: &bytes.Buffer{}}
	s.cmd = exec.Command(exe, "serve", "--json", "--config", file)
	s.cmd.Env = append(env(home), "MODEL_KEY=sk-upstream", "CI_KEY="+ciKey, "ROBOT_KEY="+robotKey, "CODER_KEY="+coderKey)
	s.cmd.Dir, s.cmd.Stderr = home, s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v; stderr:\n%s", err, s.stderr)
	}
	var at struct {
		URL    string
		Models []string
		Keys   int
	}
	if err := json.Unmarshal(line, &at); err != nil {
		t.Fatalf("it printed %s", line)
	}
	s.url, s.models, s.keys = at.URL, at.Models, at.Keys
	return s
}

// stop ends the program as a service manager does.
func (s *served) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("serve ended with %v; stderr:\n%s", err, s.stderr)
	}
}

func (s *served) post(path, key, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.HasSuffix(path, "/messages") {
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%v; stderr:\n%s", err, s.stderr)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var servedAt = map[provider.API]string{provider.Chat: "/v1/chat/completions", provider.Responses: "/v1/responses", provider.Messages: "/v1/messages"}

// ask sends a request in a format's words and reads the answer.
func (s *served) ask(f provider.Format, key string, r *provider.Request) *provider.Response {
	s.t.Helper()
	r.API = f.API()
	if r.Params.MaxTokens = 0; f.API() == provider.Messages {
		r.Params.MaxTokens = 500
	}
	body, err := f.EncodeRequest(r)
	if err != nil {
		s.t.Fatal(err)
	}
	status, got := s.post(servedAt[f.API()], key, string(body))
	if status != 200 {
		s.t.Fatalf("%s: %d %s\nstderr: %s", f.API(), status, got, s.stderr)
	}
	if !r.Stream {
		resp, err := f.DecodeResponse([]byte(got))
		if err != nil {
			s.t.Fatalf("%v in %s", err, got)
		}
		return resp
	}
	d := f.NewStreamDecoder()
	frames := provider.NewFrameReader(strings.NewReader(got))
	for {
		frame, err := frames.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			_, err = d.Frame(frame)
		}
		if err != nil {
			s.t.Fatalf("%v in %s", err, got)
		}
	}
	resp, err := d.Response()
	if err != nil {
		s.t.Fatalf("%v in %s", err, got)
	}
	return resp
}

func userSays(text string) []provider.Message {
	return []provider.Message{{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: text}}}}
}

// Every API in front of every API: the model finds and calls the tool, and the
// caller reads what it answers.
func TestServeEveryFormat(t *testing.T) {
	s, model := startServe(t, mock.Agent())
	if got := strings.Join(s.models, " "); got != "chat/m responses/m messages/m fast default" {
		t.Errorf("it lists %s", got)
	}
	for _, f := range []provider.Format{openai.Chat(), openai.Responses(), anthropic.Messages()} {
		for _, name := range []string{"chat/m", "responses/m", "messages/m", "fast", "default"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", f.API(), name, stream), func(t *testing.T) {
					before := model.Total()
					resp := s.ask(f, ciKey, &provider.Request{Model: name, Stream: stream, Messages: userSays(`How is it? target=echo args={"city":"Oslo"} query="weather forecast"`)})
					if !strings.Contains(resp.Text(), "Oslo") || resp.Stop != provider.StopEnd || len(resp.Calls()) > 0 {
						t.Errorf("answered %q, %s", resp.Text(), resp.Stop)
					}
					if n := model.Total() - before; n != 3 {
						t.Errorf("%d rounds, want search, call and answer", n)
					}
				})
			}
		}
	}
	for _, x := range model.Requests() {
		if strings.Contains(fmt.Sprint(x.Header), ciKey) {
			t.Error("the caller's key went to the model API")
		}
		if x.API == provider.Chat && x.Header.Get("Authorization") != "Bearer sk-upstream" {
			t.Errorf("the model API got %q", x.Header.Get("Authorization"))
		}
	}
}

// Each key has the tools of its agent, whichever way it comes.
func TestServeEachCallersRules(t *testing.T) {
	s, _ := startServe(t, mock.Agent())
	const invoke = `{"tool":"mcp:weather:echo","args":{"city":"Oslo"}}`
	if status, got := s.post("/tools/invoke", ciKey, invoke); status != 200 || !strings.Contains(got, "Oslo") {
		t.Errorf("ci: %d %s", status, got)
	}
	if status, got := s.post("/tools/invoke", robotKey, invoke); status != 404 || !strings.Contains(got, `"unknown_tool"`) {
		t.Errorf("robot: %d %s", status, got)
	}
	for _, name := range []string{"eve", "lab", "boxed", "child"} {
		if status, got := s.post("/tools/invoke", "key-of-"+name+"-0123456789", invoke); status != 404 || !strings.Contains(got, `"unknown_tool"`) {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	if status, got := s.post("/tools/invoke", "wrong-0123456789abcdef", invoke); status != 401 {
		t.Errorf("nobody: %d %s", status, got)
	}
	if got := strings.Join(listOverMCP(t, s.url, ciKey), " "); got != "tool_search tool_describe tool_call" {
		t.Errorf("over MCP, ci sees %q", got)
	}
	session := connectMCP(t, s.url, robotKey)
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "tool_call", Arguments: map[string]any{"id": "mcp:weather:echo", "args": map[string]any{"city": "Oslo"}}})
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(res); !res.IsError || !strings.Contains(string(raw), "unknown_tool") {
		t.Errorf("robot over MCP: %s", raw)
	}
	// A session is its caller's alone.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + ciKey, "Mcp-Session-Id": session.ID(), "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if session.ID() != "" && resp.StatusCode != http.StatusForbidden {
		t.Errorf("in another's session: %d", resp.StatusCode)
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connectMCP(t *testing.T, url, key string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone first
	return session
}

func listOverMCP(t *testing.T, url, key string) []string {
	t.Helper()
	list, err := connectMCP(t, url, key).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list.Tools {
		names = append(names, d.Name)
	}
	return names
}

// SIGTERM lets the request in flight end, with the tools that it needs.
func TestServeDrains(t *testing.T) {
	stopping := make(chan struct{})
	s, model := startServe(t, mock.Script{Choose: func(x *mock.Exchange) mock.Step {
		if x.N == 1 {
			<-stopping
			return mock.Call("tool_call", `{"id":"mcp:weather:echo","args":{"city":"Oslo"}}`)
		}
		if strings.Contains(string(x.Body), "Oslo") {
			return mock.Text("it was called")
		}
		return mock.Text("it was not")
	}})
	answer := make(chan string, 1)
	go func() {
		_, got := s.post("/v1/chat/completions", ciKey, `{"model":"chat/m","messages":[{"role":"user","content":"hi"}]}`)
		answer <- got
	}()
	if _, err := model.Request(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		resp, err := http.Get(s.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			break
		}
	}
	close(stopping)
	if got := <-answer; !strings.Contains(got, "it was called") {
		t.Errorf("answered %s", got)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.stderr)
	}
}
