package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolsearch/toolsearch/provider"
)

const key = "sk-very-secret-0123456789"

func withKey(context.Context) (string, error) { return key + "\n", nil }

// A server that quotes what it was sent, in every way that it can answer.
func TestKeyIsInNoError(t *testing.T) {
	quote := func(r *http.Request) string {
		return fmt.Sprintf(`{"error":{"type":"x","message":"wrong key %s, %s"}}`, r.Header.Get("X-Api-Key"), r.Header.Get("X-Extra-Token"))
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal":          func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401); io.WriteString(w, quote(r)) },
		"a refusal, retried": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); io.WriteString(w, quote(r)) },
		"in a whole answer":  func(w http.ResponseWriter, r *http.Request) { body("application/json", quote(r))(w, r) },
		"in a stream":        func(w http.ResponseWriter, r *http.Request) { stream(quote(r))(w, r) },
		"after an event":     func(w http.ResponseWriter, r *http.Request) { stream(`{"say":"x"}`, quote(r))(w, r) },
		"in a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other/?k="+r.Header.Get("X-Api-Key"), http.StatusTemporaryRedirect)
		},
		"a broken connection": hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: []http.HandlerFunc{answer, answer, answer}}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a), Key: withKey,
					BaseURL: "http://model.example/v1?code=" + key,
					Headers: http.Header{"X-Extra-Token": {"extra-secret"}}})
				_, err := generate(t.Context(), client, true)
				if err == nil {
					t.Fatal("no error")
				}
				said := err.Error()
				var e *provider.Error
				if errors.As(err, &e) {
					said += e.Message + string(e.Body)
				}
				if strings.Contains(said, key) || strings.Contains(said, "extra-secret") {
					t.Errorf("the error repeats a secret: %s", said)
				}
			})
		})
	}
}

// The key is asked for at each attempt, and what it cannot give is not sent.
func TestKeyIsResolvedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		see := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Header.Get("X-Api-Key"))
				next(w, r)
			}
		}
		a := &answers{list: []http.HandlerFunc{see(status(500)), see(hello)}}
		n := 0
		noKey := errors.New("no variable MODEL_KEY")
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a),
			Key: func(context.Context) (string, error) {
				if n++; n > 2 {
					return "", noKey
				}
				return fmt.Sprintf(" key-%d\n", n), nil
			}})
		if _, err := generate(t.Context(), client, true); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != "key-1 key-2" {
			t.Errorf("the server got the keys %q", got)
		}
		if _, err := generate(t.Context(), client, true); !errors.Is(err, noKey) || len(got) != 2 {
			t.Errorf("error %v after %d requests, want that of the key, and no request", err, len(got))
		}
	})
}

func TestRedirects(t *testing.T) {
	for name, c := range map[string]struct {
		to     string
		status int
		follow bool
	}{
		"same host, 307":            {"/v2/say", 307, true},
		"same host, 308":            {"http://model.example/v2/say", 308, true},
		"same host, would be a GET": {"/v2/say", 302, false},
		"another host":              {"http://evil.example/say", 307, false},
		"a host below":              {"http://x.model.example/say", 307, false},
		"another port":              {"http://model.example:81/say", 308, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				second := func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost || r.Header.Get("X-Api-Key") != key || r.URL.Path != "/v2/say" {
						t.Errorf("the redirect brought %s %s with %q", r.Method, r.URL, r.Header.Get("X-Api-Key"))
					}
					hello(w, r)
				}
				first := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, c.to, c.status) }
				a := &answers{list: []http.HandlerFunc{first, second}}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a), Key: withKey})
				got, err := generate(t.Context(), client, true)
				if c.follow {
					if got.Text != "hello" {
						t.Errorf("got %+v (%v), want the answer behind the redirect", got, err)
					}
					return
				}
				var e *provider.Error
				if !errors.As(err, &e) || e.Status != c.status || a.n.Load() != 1 {
					t.Errorf("error %v after %d requests, want one with status %d after 1", err, a.n.Load(), c.status)
				}
			})
		})
	}
}

func TestEndpoint(t *testing.T) {
	for _, c := range []struct{ base, path, want string }{
		{"https://h/v1", "/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/v1/", "/chat/completions", "https://h/v1/chat/completions"},
		{"https://h/v1/chat/completions", "/chat/completions", "https://h/v1/chat/completions"},
		{"https://h", "/v1/messages", "https://h/v1/messages"},
		{"https://h/", "/v1/messages", "https://h/v1/messages"},
		{"https://h/v1", "/v1/messages", "https://h/v1/messages"},
		{"https://h/v1/", "/v1/messages", "https://h/v1/messages"},
		{"https://h/api/v1", "/v1/messages", "https://h/api/v1/messages"},
		{"https://h/myv1", "/v1/messages", "https://h/myv1/v1/messages"},
		{"https://h/a%2Fb/v1", "/chat/completions", "https://h/a%2Fb/v1/chat/completions"},
		{"http://127.0.0.1:8080/v1?api-version=2", "/responses", "http://127.0.0.1:8080/v1/responses?api-version=2"},
	} {
		var got string
		seen := roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, errors.New("seen")
		})
		client := newClient(t, provider.ClientConfig{Format: plainFormat{c.path}, BaseURL: c.base,
			HTTP: &http.Client{Transport: seen}, Retry: provider.Retry{Attempts: 1}})
		if _, err := generate(t.Context(), client, true); err == nil || got != c.want {
			t.Errorf("%s with %s: asked %s, want %s", c.base, c.path, got, c.want)
		}
	}
	for _, base := range []string{"", "h/v1", "ftp://h", "https://", "https://user:" + key + "@h/v1", "https://h/v1#x", "https://h/" + key + "%zz"} {
		_, err := provider.NewClient(provider.ClientConfig{Format: plainFormat{}, BaseURL: base})
		if err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("base URL %q: error %v, want one without the secret", base, err)
		}
	}
	if _, err := provider.NewClient(provider.ClientConfig{BaseURL: "https://h"}); err == nil {
		t.Error("a client without a format was created")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// JSON has several ways to write a character, and servers use them for those
// that stand in keys.
func TestKeyIsHiddenWhereEscaped(t *testing.T) {
	const key = "sk-up/stream+1"
	for _, quoted := range []string{`sk-up/stream+1`, `sk-up\/stream+1`, `sk-up/stream\u002b1`, `sk-up\u002Fstream\u002B1`, `\u0073k-up/stream+1`} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{list: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(401)
				io.WriteString(w, `{"error":{"message":"wrong key"},"sent":"a\\b `+quoted+`!"}`)
			}}}
			client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a), Key: func(context.Context) (string, error) { return key, nil }})
			_, err := generate(t.Context(), client, false)
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if got, want := string(e.Body), `{"error":{"message":"wrong key"},"sent":"a\\b [hidden]!"}`; got != want {
				t.Errorf("%s: got %s, want %s", quoted, got, want)
			}
		})
	}
}
