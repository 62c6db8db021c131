package modelapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// counting is a model that counts its calls up, so that their ids repeat, and at
// last repeats what it was told in the system prompt.
func counting() mock.Script {
	return mock.Script{Choose: func(x *mock.Exchange) mock.Step {
		if !strings.Contains(string(x.Body), `"role":"tool"`) {
			return mock.Step{Calls: []provider.Call{{ID: "call_0", Name: "pick", Args: []byte(`{"kind":"a"}`)}}}
		}
		for _, m := range x.Request.Messages {
			if m.Role == provider.System && len(m.Blocks) > 0 {
				return mock.Text("told: " + m.Blocks[0].Text)
			}
		}
		return mock.Text("told nothing")
	}}
}

// One key may serve many people. An answer must not go on in the run of another
// conversation which looks alike up to the ids of its calls.
func TestConversationsThatLookAlike(t *testing.T) {
	const said = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"pick","arguments":"{\"kind\":\"a\"}"}}]}`
	system := func(who string) string { return fmt.Sprintf(`{"role":"system","content":"You serve %s"}`, who) }
	for _, c := range []struct {
		name, first, second string
		header              []string // of the second
	}{
		{"another system prompt", system("Ann"), system("Ben"), nil},
		{"another session", system("Ann"), system("Ann"), []string{"X-Toolsearch-Session", "ben"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, counting(), nil)
			extra := `,"tools":[` + pickTool + `]`
			w.do(t, "POST", "/v1/chat/completions", chat(extra, c.first, hi))
			w.do(t, "POST", "/v1/chat/completions", chat(extra, c.second, hi), c.header...)
			for _, ask := range []struct {
				system string
				header []string
			}{{c.first, nil}, {c.second, c.header}} {
				_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, ask.system, hi, said, answerTo("call_0", "x")), ask.header...)
				var a chatAnswer
				decode(t, got, &a)
				text, _, _ := a.message(t)
				if !strings.Contains(ask.system, strings.TrimPrefix(text, "told: ")) {
					t.Errorf("asked under %s: %s", ask.system, text)
				}
			}
			if n := len(w.started()); n != 2 {
				t.Errorf("%d runs began, want each conversation to go on in its own", n)
			}
		})
	}
}

// Whoever holds many runs pushes out its own, and not those of others.
func TestHeldRunsOfOthersStay(t *testing.T) {
	w := start(t, counting(), func(o *modelapi.Options) { o.HeldRuns = 4 })
	extra := `,"tools":[` + pickTool + `]`
	bob := []string{"Authorization", "Bearer " + bobKey}
	_, got := w.do(t, "POST", "/v1/chat/completions", chat(extra, hi), bob...)
	call := callOf(t, got, false)
	for i := range 10 {
		w.do(t, "POST", "/v1/chat/completions", chat(extra, fmt.Sprintf(`{"role":"user","content":"question %d"}`, i)))
	}
	before := len(w.started())
	w.do(t, "POST", "/v1/chat/completions", chat(extra, hi, assistant(call), answerTo(call.ID, "x")), bob...)
	if n := len(w.started()); n != before {
		t.Error("the run of bob was pushed out by those of alice")
	}
}

// A browser says where a request comes from, even where it sends no Origin.
func TestPagesWithoutAnOrigin(t *testing.T) {
	w := start(t, mock.Script{}, nil)
	for site, status := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		if resp, body := w.do(t, "GET", "/v1/models", "", "Sec-Fetch-Site", site); resp.StatusCode != status {
			t.Errorf("%s: %d %s, want %d", site, resp.StatusCode, body, status)
		}
	}
}

// deadlines records what bounds a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = append(d.read, t); return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }

// A body that another handler reads has to arrive in time too; its answer has no
// deadline of an earlier answer on the same connection, and each write one of its own.
func TestDeadlinesOfMCP(t *testing.T) {
	var seen deadlines
	w := start(t, mock.Script{}, func(o *modelapi.Options) {
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(seen.write) == 0 || !seen.write[len(seen.write)-1].IsZero() {
				t.Error("the deadline of an earlier answer was not lifted")
			}
			if n := len(seen.read); n == 0 || seen.read[n-1].IsZero() {
				t.Errorf("the body may arrive at any time: %v", seen.read)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if !seen.read[len(seen.read)-1].IsZero() {
				t.Errorf("once the body is there: %v", seen.read)
			}
			for what, write := range map[string]func(){
				"a write": func() { _, _ = io.WriteString(w, "data: {}\n\n") },
				"a flush": func() { _ = http.NewResponseController(w).Flush() },
			} {
				seen.write = nil
				if write(); len(seen.write) == 0 || seen.write[len(seen.write)-1].IsZero() {
					t.Errorf("%s may wait for its reader for ever: %v", what, seen.write)
				}
			}
			seen.write = nil
		})
	})
	seen.ResponseRecorder = httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(`{}`))
	req.Header.Set("Authorization", "Bearer "+aliceKey)
	w.server.ServeHTTP(&seen, req)
	if len(seen.write) == 0 || seen.write[len(seen.write)-1].IsZero() {
		t.Errorf("the end of the answer has the deadline of its last write, long ago: %v", seen.write)
	}
}

// net/http waits for the body that a request announces before it answers, also
// where no handler reads it: it must not wait for ever.
func TestBodiesThatNobodyReads(t *testing.T) {
	w := start(t, mock.Script{}, func(o *modelapi.Options) {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	})
	for _, c := range []struct {
		method, path, key string
		status            int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/readyz", "", 200},
		{"GET", "/nowhere", "", 404},
		{"PUT", "/v1/models", "", 405},
		{"GET", "/v1/models", aliceKey, 200},
		{"GET", "/metrics", aliceKey, 200},
		{"POST", "/v1/chat/completions", "", 401},
	} {
		seen := deadlines{ResponseRecorder: httptest.NewRecorder()}
		req := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(`{}`))
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		w.server.ServeHTTP(&seen, req)
		if n := len(seen.read); seen.Code != c.status || n == 0 || seen.read[n-1].IsZero() {
			t.Errorf("%s %s: %d, its body may arrive at any time: %v", c.method, c.path, seen.Code, seen.read)
		}
	}
}

// Who has no key hears so at once, whatever it says that it will send.
func TestNobodyWaitsForTheBodyOfAStranger(t *testing.T) {
	w := start(t, mock.Script{}, nil)
	for _, head := range []string{"", "Origin: http://evil.example\r\n"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\n%sContent-Length: 100\r\n\r\n", head); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil) // hangs where the body is waited for
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 4 || !resp.Close {
			t.Errorf("with %q: %s, and the connection goes on: %t", head, resp.Status, !resp.Close)
		}
	}
}
