package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// start serves a script on a real port, and returns a client of it.
func start(t *testing.T, s mock.Script, f provider.Format) (*mock.Server, *provider.Client) {
	t.Helper()
	server := mock.New(s)
	url, stop, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	client, err := provider.NewClient(provider.ClientConfig{Format: f, BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

func userSays(text string) provider.Message {
	return provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: text}}}
}

func TestScriptEnds(t *testing.T) {
	_, client := start(t, mock.Script{Steps: []mock.Step{mock.Text("one")}}, openai.Chat())
	r := &provider.Request{Model: "m", Messages: []provider.Message{userSays("hi")}}
	if resp, err := client.Generate(t.Context(), r, nil); err != nil || resp.Text() != "one" {
		t.Fatalf("got %v (%v)", resp, err)
	}
	_, err := client.Generate(t.Context(), r, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Status != 400 || !strings.Contains(e.Message, "1 steps") {
		t.Errorf("behind the last step: %v, want a 400 that says so", err)
	}
}

func TestModels(t *testing.T) {
	w := httptest.NewRecorder()
	mock.New(mock.Script{Models: []string{"a", "b"}}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Data) != 2 || list.Data[1].ID != "b" {
		t.Errorf("GET /v1/models answers %s (%v)", w.Body, err)
	}
}

func TestUnknownPaths(t *testing.T) {
	s := mock.New(mock.Script{Steps: []mock.Step{mock.Text("x")}})
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodPost, "/v1/embeddings", strings.NewReader("{}")),
		httptest.NewRequest(http.MethodGet, "/v1/chat/completions", nil),
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s %s answers %d, want 404", r.Method, r.URL, w.Code)
		}
	}
	if s.Total() != 0 {
		t.Errorf("%d requests were counted, want none", s.Total())
	}
}

// A request that cannot be read is refused as bad, and kept.
func TestBadRequest(t *testing.T) {
	s := mock.New(mock.Script{Steps: []mock.Step{mock.Text("x")}})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader("{")))
	if w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
		t.Errorf("answered %d %s, want a 400 in JSON", w.Code, w.Body)
	}
	if kept := s.Requests(); len(kept) != 1 || kept[0].Err == nil || string(kept[0].Body) != "{" {
		t.Errorf("kept %+v", kept)
	}
}

func TestKeepsWithinBounds(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for name, c := range map[string]struct {
		script mock.Script
		want   int // kept of 5
	}{
		"count": {mock.Script{MaxKept: 2}, 2},
		"bytes": {mock.Script{MaxKeptBytes: 3*len(body) + 1}, 3},
		"none":  {mock.Script{MaxKeptBytes: 1}, 0},
		"all":   {mock.Script{}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			c.script.Choose = func(*mock.Exchange) mock.Step { return mock.Text("x") }
			s := mock.New(c.script)
			for range 5 {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
				if w.Code != http.StatusOK {
					t.Fatalf("answered %d %s", w.Code, w.Body)
				}
			}
			kept := s.Requests()
			if s.Total() != 5 || len(kept) != c.want {
				t.Fatalf("kept %d of %d, want %d of 5", len(kept), s.Total(), c.want)
			}
			for i, x := range kept {
				if x.N != 5-c.want+i+1 {
					t.Errorf("the request at %d is number %d", i, x.N)
				}
			}
			if x, err := s.Request(t.Context(), 1); (err == nil) != (c.want == 5) {
				t.Errorf("request 1: %v (%v)", x, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Request(ctx, 6); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that does not come: %v, want the context's error", err)
			}
		})
	}
}

// The bytes of a body are those of the request, and headers are kept.
func TestRecordsWhatCame(t *testing.T) {
	s := mock.New(mock.Script{Steps: []mock.Step{mock.Text("x")}})
	const body = "{ \"model\":\"m\",\n\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}], \"unknown\": 1e400 }"
	r := httptest.NewRequest(http.MethodPost, "/proxy/v1/chat/completions", io.NopCloser(strings.NewReader(body)))
	r.Header.Set("X-Trace", "7")
	s.ServeHTTP(httptest.NewRecorder(), r)
	x, err := s.Request(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(x.Body) != body || x.Header.Get("X-Trace") != "7" || x.Path != "/proxy/v1/chat/completions" || x.API != provider.Chat {
		t.Errorf("kept %+v", x)
	}
}
