package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// mcpPost sends one message of a protocol version, in a session if one is named,
// and returns the session of the answer.
func (s *served) mcpPost(version, session, message string) (string, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(message))
	if err != nil {
		s.t.Fatal(err)
	}
	var m struct {
		Method string
		Params struct{ Name string }
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		s.t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": version, "Mcp-Session-Id": session, "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name,
	} {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		s.t.Fatalf("%s: %d %s %v", m.Method, resp.StatusCode, body, err)
	}
	return resp.Header.Get("Mcp-Session-Id"), string(body)
}

// Over HTTP too each call stands under its run: a session is one, whether its
// client ends it or the server does, and so are a request without a session and
// the call of one tool.
func TestServeCallsStandUnderTheirRuns(t *testing.T) {
	to := newCollector(t)
	s := runServe(t, `{tools:{toolSearch:{mode:"tools"}}, serve:{listen:"127.0.0.1:0"},
  telemetry:{enabled:true,otlpEndpoint:"`+to.URL+`",otlpInsecure:true}, mcp:{servers:{`+
		serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{toolDef("echo", "Weather forecast")}})+`}}}`)

	const older, newer = "2025-11-25", "2026-07-28"
	call := func(version, session, name, args string) {
		t.Helper()
		meta := ""
		if version == newer {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		}
		_, body := s.mcpPost(version, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, name, args, meta))
		if strings.Contains(body, `"isError":true`) || !strings.Contains(body, `"result"`) {
			t.Errorf("%s %s: %s", version, name, body)
		}
	}
	begin := func() string {
		session, _ := s.mcpPost("", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		s.mcpPost(older, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		return session
	}
	left, stays := begin(), begin()
	for _, session := range []string{left, stays} {
		call(older, session, "tool_search", `{"query":"forecast"}`)
		call(older, session, "tool_call", `{"id":"mcp:weather:echo","args":{}}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", left)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	call(newer, "", "tool_call", `{"id":"mcp:weather:echo","args":{}}`)
	call(newer, "", "tool_search", `{"query":"forecast"}`)
	if status, body := s.post("/tools/invoke", "", `{"tool":"mcp:weather:echo","args":{}}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	s.stop()

	to.mu.Lock()
	defer to.mu.Unlock()
	runs := map[string]*tracepb.Span{}
	under := map[string][]string{} // names of the spans under each run, by its id
	for _, x := range to.spans {
		if strings.HasPrefix(x.Name, "invoke_agent") {
			runs[string(x.SpanId)] = x
		}
	}
	for _, x := range to.spans {
		if !strings.HasPrefix(x.Name, "execute_tool") {
			continue
		}
		run := runs[string(x.ParentSpanId)]
		if run == nil || !bytes.Equal(run.TraceId, x.TraceId) {
			t.Errorf("%s stands under no run", x.Name)
		}
		under[string(x.ParentSpanId)] = append(under[string(x.ParentSpanId)], x.Name)
	}
	got := map[string]int{}
	for _, names := range under {
		got[strings.Join(names, ", ")]++
	}
	want := map[string]int{"execute_tool tool_search, execute_tool echo": 2, "execute_tool echo": 2, "execute_tool tool_search": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(runs) != 5 {
		t.Errorf("under %d runs stand %v, want %v", len(runs), got, want)
	}
}
