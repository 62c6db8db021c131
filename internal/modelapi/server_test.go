package modelapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

const (
	aliceKey = "alice-0123456789abcdef"
	bobKey   = "bob-0123456789abcdefgh"
)

func keys() []modelapi.Key {
	return []modelapi.Key{
		{Name: "alice", Sum: sha256.Sum256([]byte(aliceKey)), Who: config.Who{Agent: "main"}, Metrics: true},
		{Name: "bob", Sum: sha256.Sum256([]byte(bobKey))},
	}
}

// backend is the smallest whole one: real tools, the real loop and the real
// client of a mock model.
type backend struct {
	scope *toolsearch.Scope
	model provider.Model

	mu       sync.Mutex
	starts   []modelapi.RunRequest
	finished sync.WaitGroup
}

func (b *backend) Ready(context.Context) error { return nil }

func (b *backend) Models() []modelapi.Model {
	return []modelapi.Model{{ID: "mock/small", Name: "Small", Provider: "mock"}, {ID: "mock/a/b", Provider: "mock"}, {ID: "fast", Provider: "mock"}}
}

func (b *backend) CallTool(ctx context.Context, i modelapi.Invocation) (*tool.Tool, *tool.Result, error) {
	t, err := b.scope.Resolve(ctx, i.Ref)
	if err != nil {
		return nil, nil, err
	}
	res, err := b.scope.Call(ctx, call.Request{Target: t, Args: i.Args, Origin: call.Origin{Session: i.Session, Caller: i.Caller.Name, Agent: i.Caller.Agent}})
	return t, res, err
}

func (b *backend) Start(ctx context.Context, r modelapi.RunRequest) (modelapi.Run, error) {
	b.mu.Lock()
	b.starts = append(b.starts, r)
	b.mu.Unlock()
	if strings.HasPrefix(r.Model, "unknown") {
		return nil, &provider.Error{Status: 404, Type: "invalid_request_error", Code: "model_not_found", Message: "no model is called " + r.Model}
	}
	if r.Model == "broken" {
		return nil, errors.New("a secret of the server")
	}
	if r.Model == "panics" {
		panic("oh")
	}
	var defs []client.Def
	for _, t := range r.Tools {
		defs = append(defs, client.Def{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	tools, err := client.Tools(defs, nil)
	if err != nil {
		return nil, err
	}
	session, err := b.scope.Session(toolsearch.SessionOptions{Client: tools, Visible: func(*tool.Tool) bool { return true }})
	if err != nil {
		return nil, err
	}
	run, err := turn.Start(ctx, turn.Options{Model: b.model, Request: r.Request, Tools: session, Origin: call.Origin{Session: "s", Run: "r", Caller: r.Caller.Name}})
	if err != nil {
		return nil, err
	}
	b.finished.Add(1)
	return &counted{Run: run, done: sync.OnceFunc(b.finished.Done)}, nil
}

func (b *backend) started() []modelapi.RunRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starts
}

// counted tells when a run is closed.
type counted struct {
	*turn.Run
	done func()
}

func (c *counted) Close() {
	c.Run.Close()
	c.done()
}

// world is a running server, its mock model and its log.
type world struct {
	*backend
	url    string
	base   string // of the mock model
	model  *mock.Server
	server *modelapi.Server
	stop   context.CancelFunc // begins the shutdown
	served chan error
	log    *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func formats() []provider.Format { return []provider.Format{openai.Chat(), openai.Responses()} }

// start serves on a real socket, with a mock model behind it.
func start(t testing.TB, script mock.Script, change func(*modelapi.Options)) *world {
	t.Helper()
	script.Formats = formats()
	w := &world{backend: &backend{}, model: mock.New(script), served: make(chan error, 1), log: &syncBuffer{}}
	var stop func() error
	var err error
	w.base, stop, err = w.model.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.backend.scope = tools(t)
	if w.backend.model, err = provider.NewClient(provider.ClientConfig{Format: openai.Chat(), BaseURL: w.base, Retry: provider.Retry{Attempts: 1}}); err != nil {
		t.Fatal(err)
	}
	opt := modelapi.Options{Backend: w.backend, Formats: formats(), Keys: keys(), Drain: time.Minute, Logger: slog.New(slog.NewTextHandler(w.log, nil))}
	if change != nil {
		change(&opt)
	}
	if w.server, err = modelapi.New(opt); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + l.Addr().String()
	var ctx context.Context
	ctx, w.stop = context.WithCancel(t.Context())
	go func() { w.served <- w.server.Serve(ctx, l) }()
	t.Cleanup(func() {
		w.stop()
		if err := <-w.served; err != nil {
			t.Error(err)
		}
		w.finished.Wait() // every run was closed
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// tools are weather (needs a city), and hidden, which the policy denies.
func tools(t testing.TB) *toolsearch.Scope {
	t.Helper()
	fn := func(name string) *tool.Tool {
		f, err := toolsearch.Func("test", name, "Tells the "+name, func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			if in.City == "Atlantis" {
				return "", errors.New("no such city")
			}
			return name + " of " + in.City + ": fine", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pol, _, err := policy.Compile([]policy.Layer{{Scope: policy.ScopeGlobal, Name: "tools", Rules: policy.Rules{Deny: []policy.Entry{{Pattern: "hidden"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := toolsearch.New(t.Context(), toolsearch.Options{Tools: []*tool.Tool{fn("weather"), fn("hidden")}, Policy: pol, Mode: surface.Tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	scope, err := set.Scope(t.Context(), toolsearch.ScopeOptions{Mode: surface.Tools})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// do sends one request as alice. body "" is none.
func (w *world) do(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	resp := w.send(t, t.Context(), method, path, body, header...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func (w *world) send(t *testing.T, ctx context.Context, method, path, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceKey)
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Del(header[i]); header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func decode(t *testing.T, body string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

func TestDoors(t *testing.T) {
	w := start(t, mock.Script{}, func(o *modelapi.Options) {
		o.MaxBody = 1000
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics 1\n") })
	})
	none := []string{"Authorization", ""}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		says                     string
	}{
		{"health needs no key", "GET", "/healthz", "", none, 200, `"ok":true`},
		{"nor does readiness", "GET", "/readyz", "", none, 200, `"ready":true`},
		{"metrics", "GET", "/metrics", "", nil, 200, "metrics 1"},
		{"metrics for another key", "GET", "/metrics", "", []string{"Authorization", "Bearer " + bobKey}, 403, "serve.keys[].metrics"},
		{"metrics without a key", "GET", "/metrics", "", none, 401, `"code":"blocked"`},
		{"models without a key", "GET", "/v1/models", "", none, 401, `"invalid_api_key"`},
		{"a wrong key", "GET", "/v1/models", "", []string{"Authorization", "Bearer " + aliceKey + "x"}, 401, `"invalid_api_key"`},
		{"another scheme", "GET", "/v1/models", "", []string{"Authorization", "Basic " + aliceKey}, 401, `"invalid_api_key"`},
		{"an empty key", "GET", "/v1/models", "", []string{"Authorization", "Bearer "}, 401, `"invalid_api_key"`},
		{"a small bearer", "GET", "/v1/models", "", []string{"Authorization", "bearer " + aliceKey}, 200, `"mock/small"`},
		{"Anthropic's header", "GET", "/v1/models", "", []string{"Authorization", "", "X-Api-Key", bobKey}, 200, `"mock/small"`},
		{"a page of another origin", "GET", "/v1/models", "", []string{"Origin", "https://evil.example"}, 403, "origins"},
		{"no origin at all", "POST", "/v1/chat/completions", "{}", []string{"Origin", "null"}, 403, "origins"},
		{"its own origin", "GET", "/v1/models", "", []string{"Origin", w.url}, 200, `"mock/small"`},
		{"nothing there", "GET", "/v1/nothing", "", nil, 404, `"error"`},
		{"nothing there either", "GET", "/other", "", nil, 404, `"reason"`},
		{"another method", "GET", "/v1/chat/completions", "", nil, 405, "takes POST"},
		{"another method of a tool", "PUT", "/tools/invoke", "{}", nil, 405, `"reason"`},
		{"too large", "POST", "/v1/chat/completions", `{"model":"` + strings.Repeat("x", 1000) + `"}`, nil, 413, "1000 bytes"},
		{"too large for a tool", "POST", "/tools/invoke", `{"tool":"` + strings.Repeat("x", 1000) + `"}`, nil, 413, `"code"`},
		{"compressed", "POST", "/v1/chat/completions", "{}", []string{"Content-Encoding", "gzip"}, 415, "compressed"},
		{"not JSON", "POST", "/v1/chat/completions", "{", nil, 400, `"error"`},
		{"not JSON for Responses", "POST", "/v1/responses", "[]", nil, 400, `"error"`},
		{"a bad session", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, []string{"X-Toolsearch-Session", "a b"}, 400, "X-Toolsearch-Session"},
		{"an unknown model", "POST", "/v1/chat/completions", `{"model":"unknown","messages":[{"role":"user","content":"x"}]}`, nil, 404, `"model_not_found"`},
		{"what fails inside", "POST", "/v1/chat/completions", `{"model":"broken","messages":[{"role":"user","content":"x"}]}`, nil, 502, "log says more"},
		{"what panics", "POST", "/v1/chat/completions", `{"model":"panics","messages":[{"role":"user","content":"x"}]}`, nil, 500, "req_"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := w.do(t, c.method, c.path, c.body, c.header...)
			if resp.StatusCode != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s; want %d and %q", resp.StatusCode, body, c.status, c.says)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("it tells what failed: %s", body)
			}
			if c.status >= 400 && !json.Valid([]byte(body)) {
				t.Errorf("no JSON: %s", body)
			}
			if (c.status == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate is %q", resp.Header.Get("WWW-Authenticate"))
			}
			if c.status == 405 && resp.Header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", resp.Header.Get("Allow"))
			}
			if resp.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
	log := w.log.String()
	if !strings.Contains(log, "a secret of the server") || !strings.Contains(log, "caller=alice") || !strings.Contains(log, "caller=bob") {
		t.Error("the log lacks what failed, or who asked")
	}
	if strings.Contains(log, aliceKey) || strings.Contains(log, bobKey) {
		t.Error("the log holds a key")
	}
}

// Without keys a server answers its own machine alone, and only under the
// machine's own names: a name that was bent to its address is another site's.
func TestWithoutKeys(t *testing.T) {
	w := start(t, mock.Script{}, func(o *modelapi.Options) { o.Keys = nil })
	port := w.url[strings.LastIndex(w.url, ":"):]
	for _, c := range []struct {
		host   string
		status int
	}{
		{"127.0.0.1" + port, 200}, {"localhost" + port, 200}, {"LOCALHOST", 200}, {"[::1]" + port, 200}, {"127.1.2.3", 200},
		{"evil.example" + port, 403}, {"localhost.evil.example" + port, 403}, {"10.0.0.1", 403}, {"127.0.0.1.evil.example", 403},
	} {
		if resp, body := w.do(t, "GET", "/v1/models", "", "Authorization", "", "Host", c.host); resp.StatusCode != c.status {
			t.Errorf("Host %s: %d %s, want %d", c.host, resp.StatusCode, body, c.status)
		}
	}
	// The peer is looked at too.
	for remote, status := range map[string]int{"10.0.0.1:5": 403, "": 403, "[::1]:5": 200, "[::ffff:127.0.0.1]:5": 200} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.RemoteAddr = remote
		rec := newRecorder()
		w.server.ServeHTTP(rec, req)
		if rec.status != status {
			t.Errorf("from %q: %d, want %d", remote, rec.status, status)
		}
	}
}

type recorder struct {
	header http.Header
	status int
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorder) WriteHeader(status int)      { r.status = status }

func TestOpenAddress(t *testing.T) {
	for _, c := range []struct {
		addr string
		keys int
		open bool
	}{
		{"127.0.0.1:1", 0, false}, {"[::1]:1", 0, false}, {"0.0.0.0:1", 0, true}, {"[::]:1", 0, true}, {"192.0.2.1:1", 0, true}, {"0.0.0.0:1", 1, false},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		var open *modelapi.OpenError
		if err := modelapi.CheckListener(addr, c.keys); errors.As(err, &open) != c.open {
			t.Errorf("%s with %d keys: %v", c.addr, c.keys, err)
		}
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skipf("cannot listen on every address: %v", err)
	}
	s, err := modelapi.New(modelapi.Options{Backend: &backend{}})
	if err != nil {
		t.Fatal(err)
	}
	var open *modelapi.OpenError
	if err := s.Serve(t.Context(), l); !errors.As(err, &open) {
		t.Errorf("served: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener stands open: %v", err)
	}
}

func TestKeysOfTwo(t *testing.T) {
	a := modelapi.Key{Name: "a", Sum: sha256.Sum256([]byte("1"))}
	for name, keys := range map[string][]modelapi.Key{
		"one name": {a, {Name: "a"}}, "one key": {a, {Name: "b", Sum: a.Sum}}, "no name": {{Sum: a.Sum}},
	} {
		if _, err := modelapi.New(modelapi.Options{Backend: &backend{}, Keys: keys}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestModelLists(t *testing.T) {
	w := start(t, mock.Script{}, nil)
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID, Object string
			OwnedBy    string `json:"owned_by"`
		} `json:"data"`
	}
	_, body := w.do(t, "GET", "/v1/models", "")
	decode(t, body, &list)
	if list.Object != "list" || len(list.Data) != 3 || list.Data[0].ID != "mock/small" || list.Data[0].Object != "model" || list.Data[0].OwnedBy != "mock" {
		t.Errorf("OpenAI's list: %s", body)
	}
	version := []string{"Anthropic-Version", "2023-06-01"}
	type page struct {
		Data []struct {
			Type, ID    string
			DisplayName string `json:"display_name"`
			CreatedAt   string `json:"created_at"`
		} `json:"data"`
		HasMore bool   `json:"has_more"`
		FirstID string `json:"first_id"`
		LastID  string `json:"last_id"`
	}
	for _, c := range []struct {
		query, ids string
		more       bool
	}{
		{"", "mock/small mock/a/b fast", false}, {"?limit=2", "mock/small mock/a/b", true}, {"?limit=2&after_id=mock/a/b", "fast", false},
		{"?limit=1&before_id=fast", "mock/a/b", true}, {"?after_id=fast", "", false},
	} {
		var p page
		_, body := w.do(t, "GET", "/v1/models"+c.query, "", version...)
		decode(t, body, &p)
		var ids []string
		for _, m := range p.Data {
			ids = append(ids, m.ID)
			if m.Type != "model" || m.DisplayName == "" || m.CreatedAt == "" {
				t.Errorf("%+v", m)
			}
		}
		if strings.Join(ids, " ") != c.ids || p.HasMore != c.more || len(ids) > 0 && (p.FirstID != ids[0] || p.LastID != ids[len(ids)-1]) {
			t.Errorf("%s: %s", c.query, body)
		}
	}
	for _, c := range []struct {
		path   string
		header []string
		status int
		says   string
	}{
		{"/v1/models/mock/a/b", nil, 200, `"id":"mock/a/b"`}, {"/v1/models/mock%2Fa%2Fb", version, 200, `"type":"model"`},
		{"/v1/models/ghost", nil, 404, `"model_not_found"`}, {"/v1/models?limit=x", version, 400, "limit"},
	} {
		if resp, body := w.do(t, "GET", c.path, "", c.header...); resp.StatusCode != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode, body)
		}
	}
}

func TestInvoke(t *testing.T) {
	w := start(t, mock.Script{}, nil)
	for _, c := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"by id", `{"tool":"openclaw:test:weather","args":{"city":"Oslo"},"session":"s1"}`, 200, "weather of Oslo: fine"},
		{"by name", `{"tool":"weather","args":{"city":"Rome"}}`, 200, `"id":"openclaw:test:weather"`},
		{"a failing tool", `{"tool":"weather","args":{"city":"Atlantis"}}`, 502, `"code":"failed"`},
		{"wrong arguments", `{"tool":"weather","args":{"town":"Oslo"}}`, 400, `"code":"invalid_arguments"`},
		{"arguments that are no object", `{"tool":"weather","args":[1]}`, 400, `"code":"invalid_input"`},
		{"no tool", `{"args":{}}`, 400, `"code":"invalid_input"`},
		{"a tool twice", `{"tool":"absent","tool":"weather","args":{"city":"Rome"}}`, 400, `twice`},
		{"an argument twice", `{"tool":"weather","args":{"city":"Rome","city":"Oslo"}}`, 400, `"code":"invalid_input"`},
		{"a field too many", `{"tool":"weather","arguments":{}}`, 400, `\"arguments\"`},
		{"a bad session", `{"tool":"weather","session":"a b"}`, 400, `\"session\"`},
		{"unknown", `{"tool":"absent","args":{}}`, 404, `"code":"unknown_tool"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := w.do(t, "POST", "/tools/invoke", c.body)
			if resp.StatusCode != c.status || !strings.Contains(body, c.says) || !json.Valid([]byte(body)) {
				t.Errorf("%d %s; want %d and %q", resp.StatusCode, body, c.status, c.says)
			}
		})
	}
	// What is not allowed answers as what does not exist, byte for byte.
	_, denied := w.do(t, "POST", "/tools/invoke", `{"tool":"hidden"}`)
	_, absent := w.do(t, "POST", "/tools/invoke", `{"tool":"hodden"}`)
	if denied != strings.ReplaceAll(absent, "hodden", "hidden") {
		t.Errorf("denied: %s\nabsent: %s", denied, absent)
	}
}

// Whatever is sent to be invoked is answered with JSON, and with the status of a
// request that is wrong unless a tool ran.
func FuzzInvoke(f *testing.F) {
	for _, seed := range []string{
		`{"tool":"weather","args":{"city":"Oslo"},"session":"s"}`, `{"tool":"hidden"}`, `{"tool":1}`, `{"tool":"weather","args":null}`,
		`[]`, ``, `{"tool":"weather","tool":"hidden"}`, `{"tool":"\u0000","args":{"a":1e999}}`, `{"session":"` + strings.Repeat("s", 200) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	b := &backend{scope: tools(f)}
	s, err := modelapi.New(modelapi.Options{Backend: b, Formats: formats(), Keys: keys()})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tools/invoke", bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+aliceKey)
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		var refused struct{ Code, Reason string }
		if err := json.Unmarshal(rec.Body.Bytes(), &refused); err != nil {
			t.Fatalf("%v: %s", err, rec.Body)
		}
		if (rec.Code == http.StatusOK) != (refused.Code == "") || rec.Code == http.StatusInternalServerError || strings.Contains(rec.Body.String(), "hidden of") {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	})
}
