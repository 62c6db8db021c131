package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/provider"
)

// answers serves one handler after another, and counts.
type answers struct {
	list []http.HandlerFunc
	n    atomic.Int64
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // a server sees that a client is gone only once it has read its body
	n := int(a.n.Add(1))
	if n > len(a.list) {
		http.Error(w, fmt.Sprintf("request %d was not expected", n), http.StatusTeapot)
		return
	}
	a.list[n-1](w, r)
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"type":"t%d","message":"m%d"}}`, code, code)
	}
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, text)
	}
}

func stream(frames ...string) http.HandlerFunc {
	return body("text/event-stream", "data: "+strings.Join(frames, "\n\ndata: ")+"\n\n")
}

// breakAfter writes a text and breaks the connection.
func breakAfter(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

var (
	hello      = stream(`{"say":"hel"}`, `{"say":"lo"}`, "[DONE]")
	overloaded = stream(`{"error":{"type":"overloaded_error","message":"busy"}}`)
)

// outcome is what a caller of Generate sees.
type outcome struct {
	Text   string // of the response
	Events string // texts, with | between them
	Sent   int
	Waited time.Duration
	Err    string // "" for none; else the beginning of the API's message, "part" for what broke off after it had begun, or "?" for another error
}

func generate(ctx context.Context, c *provider.Client, stream bool) (outcome, error) {
	var o outcome
	start := time.Now()
	var pieces []string
	resp, err := c.Generate(ctx, &provider.Request{Model: "m", Stream: stream}, func(e provider.Event) error {
		pieces = append(pieces, e.Text)
		return nil
	})
	o.Waited, o.Events = since(start), strings.Join(pieces, "|")
	var apiErr *provider.Error
	var broken *provider.BrokenError
	switch {
	case err == nil:
		o.Text = resp.Text()
	case errors.As(err, &broken):
		o.Err = "part"
	case errors.As(err, &apiErr):
		o.Err = apiErr.Message
	default:
		o.Err = "?"
	}
	return o, err
}

func TestRetries(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	future := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	late := func(w http.ResponseWriter, r *http.Request) {
		status(429, "Retry-After", future(7*s))(w, r)
	}
	ok := outcome{Text: "hello", Events: "hel|lo", Sent: 1}
	after := func(waited time.Duration) outcome {
		return outcome{Text: "hello", Events: "hel|lo", Sent: 2, Waited: waited}
	}
	cases := []struct {
		name    string
		answers []http.HandlerFunc
		want    outcome
	}{
		{"at once", []http.HandlerFunc{hello}, ok},
		{"500", []http.HandlerFunc{status(500), hello}, after(500 * ms)},
		{"529", []http.HandlerFunc{status(529), hello}, after(500 * ms)},
		{"408", []http.HandlerFunc{status(408), hello}, after(500 * ms)},
		{"409", []http.HandlerFunc{status(409), hello}, after(500 * ms)},
		{"429 without a word", []http.HandlerFunc{status(429), hello}, after(500 * ms)},
		{"429, seconds", []http.HandlerFunc{status(429, "Retry-After", "20"), hello}, after(20 * s)},
		{"429, half a second", []http.HandlerFunc{status(429, "Retry-After", "0.25"), hello}, after(250 * ms)},
		{"429, a date", []http.HandlerFunc{late, hello}, after(7 * s)},
		{"429, milliseconds win", []http.HandlerFunc{status(429, "Retry-After-Ms", "1234.0", "Retry-After", "9"), hello}, after(1234 * ms)},
		{"429, nonsense", []http.HandlerFunc{status(429, "Retry-After", "soon"), hello}, after(500 * ms)},
		{"429, negative", []http.HandlerFunc{status(429, "Retry-After", "-5"), hello}, after(500 * ms)},
		{"503, too long", []http.HandlerFunc{status(503, "Retry-After", "31")}, outcome{Err: "m503", Sent: 1}},
		{"429, longer than time itself", []http.HandlerFunc{status(429, "Retry-After", "1e300")}, outcome{Err: "m429", Sent: 1}},
		{"three times", []http.HandlerFunc{status(500), status(502), status(503)}, outcome{Err: "m503", Sent: 3, Waited: 1500 * ms}},
		{"400", []http.HandlerFunc{status(400)}, outcome{Err: "m400", Sent: 1}},
		{"401", []http.HandlerFunc{status(401)}, outcome{Err: "m401", Sent: 1}},
		{"the server says no", []http.HandlerFunc{status(500, "X-Should-Retry", "false")}, outcome{Err: "m500", Sent: 1}},
		{"the server says yes", []http.HandlerFunc{status(418, "X-Should-Retry", "true"), hello}, after(500 * ms)},
		{"out of money", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			io.WriteString(w, `{"error":{"code":"insufficient_quota","message":"pay"}}`)
		}}, outcome{Err: "pay", Sent: 1}},
		{"no answer", []http.HandlerFunc{hangUp, hello}, after(500 * ms)},
		{"cut before an event", []http.HandlerFunc{breakAfter("text/event-stream", "data: {\"sa"), hello}, after(500 * ms)},
		{"ended before an event", []http.HandlerFunc{stream(), body("text/event-stream", ": hi\n\n"), hello},
			outcome{Text: "hello", Events: "hel|lo", Sent: 3, Waited: 1500 * ms}},
		{"ended inside a frame", []http.HandlerFunc{body("text/event-stream", "data: {\"say\":\"he"), hello}, after(500 * ms)},
		{"refused inside the stream", []http.HandlerFunc{overloaded, hello}, after(500 * ms)},
		{"cut after an event", []http.HandlerFunc{breakAfter("text/event-stream", "data: {\"say\":\"he\"}\n\ndata: {")},
			outcome{Events: "he", Err: "part", Sent: 1}},
		{"ended after an event", []http.HandlerFunc{stream(`{"say":"he"}`)}, outcome{Events: "he", Err: "part", Sent: 1}},
		{"ended inside a frame, after an event", []http.HandlerFunc{body("text/event-stream", "data: {\"say\":\"he\"}\n\ndata: {")}, outcome{Events: "he", Err: "part", Sent: 1}},
		{"refused after an event", []http.HandlerFunc{stream(`{"say":"he"}`, `{"error":{"type":"overloaded_error","message":"busy"}}`)},
			outcome{Events: "he", Err: "busy", Sent: 1}},
		{"not JSON", []http.HandlerFunc{stream("hello")}, outcome{Err: "?", Sent: 1}},
		{"a whole answer to a stream", []http.HandlerFunc{body("application/json; charset=utf-8", `{"say":"hello"}`)},
			outcome{Text: "hello", Events: "hello", Sent: 1}},
		{"a whole answer that is cut", []http.HandlerFunc{breakAfter("application/json", `{"say":`), hello}, after(500 * ms)},
		{"a stream of no type", []http.HandlerFunc{body("text/plain", "data: {\"say\":\"x\"}\n\ndata: [DONE]")},
			outcome{Text: "x", Events: "x", Sent: 1}},
		{"a web page", []http.HandlerFunc{body("text/html; charset=utf-8", "<p>hello")}, outcome{Err: "?", Sent: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: c.answers}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
				got, err := generate(t.Context(), client, true)
				got.Sent = int(a.n.Load())
				want := c.want
				if strings.HasSuffix(c.name, "a date") { // which has whole seconds
					got.Waited = got.Waited.Round(s)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("outcome (-want +got):\n%s\nerror: %v", d, err)
				}
			})
		})
	}
}

func TestWholeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   outcome
	}{
		"JSON":       {body("application/json", `{"say":"hello"}`), outcome{Text: "hello", Sent: 1}},
		"no type":    {body("", `{"say":"hello"}`), outcome{Text: "hello", Sent: 1}},
		"a stream":   {hello, outcome{Text: "hello", Sent: 1}},
		"an error":   {body("application/json", `{"error":{"message":"no"}}`), outcome{Err: "no", Sent: 1}},
		"not JSON":   {body("application/json", `hello`), outcome{Err: "?", Sent: 1}},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, outcome{Err: "?", Sent: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: []http.HandlerFunc{c.answer}}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
				got, err := generate(t.Context(), client, false)
				got.Sent = int(a.n.Load())
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("outcome (-want +got):\n%s\nerror: %v", d, err)
				}
			})
		})
	}
}

// What the API refused is passed on as it came.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := `{"error":{"message":"m"}}` + strings.Repeat(" ", 100<<10)
		a := &answers{list: []http.HandlerFunc{status(429, "Retry-After", "3600"), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(422)
			io.WriteString(w, long)
		}}}
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
		_, err := generate(t.Context(), client, true)
		var e *provider.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v, want an *Error", err)
		}
		want := &provider.Error{Status: 429, Type: "t429", Message: "m429", API: "plain",
			Body: []byte(`{"error":{"type":"t429","message":"m429"}}`), RetryAfter: time.Hour}
		if d := cmp.Diff(want, e); d != "" {
			t.Errorf("error (-want +got):\n%s", d)
		}
		if _, err = generate(t.Context(), client, false); !errors.As(err, &e) || len(e.Body) != 64<<10 {
			t.Errorf("a long body: %d bytes kept, want 64 KiB", len(e.Body))
		}
	})
}

// The wait is a random part of a span that doubles up to its cap.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{}
		for range 6 {
			a.list = append(a.list, status(500))
		}
		a.list = append(a.list, hello)
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a),
			Retry: provider.Retry{Attempts: 7, Base: time.Second, Cap: 5 * time.Second, Jitter: func() float64 { return 0.5 }}})
		got, err := generate(t.Context(), client, true)
		// Half of 1, 2, 4, 5, 5 and 5 seconds.
		if err != nil || got.Waited != 11*time.Second {
			t.Errorf("waited %v (%v), want 11s", got.Waited, err)
		}
	})
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{}, 1)
		a := &answers{list: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 { // slow is not silent
				time.Sleep(50 * time.Second)
				io.WriteString(w, "data: {\"say\":\"x\"}\n\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			gone <- struct{}{}
		}}}
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a), IdleTimeout: time.Minute})
		got, err := generate(t.Context(), client, true)
		if got.Waited != 150*time.Second+time.Minute || got.Events != "x|x|x" || err == nil || !strings.Contains(err.Error(), "1m0s") {
			t.Errorf("got %+v and %v, want three events and an error a minute after the last", got, err)
		}
		<-gone
	})
}

func TestCancel(t *testing.T) {
	cause := errors.New("the user left")
	for name, answer := range map[string]http.HandlerFunc{
		"before the headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"say\":\"x\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"while waiting": status(429, "Retry-After", "25"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{}
				gone := make(chan struct{})
				a.list = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
					defer close(gone)
					answer(w, r)
				}}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(cause) })
				got, err := generate(ctx, client, true)
				if got.Waited != 10*time.Second || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
					t.Errorf("after %v: %v, want context.Canceled and its cause after 10s", got.Waited, err)
				}
				<-gone // the server saw it, or the test's clock would stand still
				if n := a.n.Load(); n != 1 {
					t.Errorf("%d requests were sent, want 1", n)
				}
			})
		})
	}
}

// A wait that would outlast the caller's deadline is not begun.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []http.HandlerFunc{status(429, "Retry-After", "25")}}
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		got, err := generate(ctx, client, true)
		if got.Waited != 0 || got.Err != "m429" {
			t.Errorf("got %+v (%v), want the refusal at once", got, err)
		}
	})
}

// An error of emit ends the round, and comes back as it is.
func TestEmitError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []http.HandlerFunc{hello}}
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
		enough := errors.New("enough")
		_, err := client.Generate(t.Context(), &provider.Request{Stream: true}, func(provider.Event) error { return enough })
		if err != enough || a.n.Load() != 1 {
			t.Errorf("error %v after %d requests, want emit's own after 1", err, a.n.Load())
		}
	})
}

// A server that keeps the connection open behind the last frame does not keep
// the caller, and one that ends it has it used again.
func TestEndOfStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			hello(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}}}
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a)})
		got, err := generate(t.Context(), client, true)
		if got.Text != "hello" || got.Waited > time.Second {
			t.Errorf("got %+v (%v), want the answer at once", got, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		slow := func(w http.ResponseWriter, r *http.Request) {
			hello(w, r)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) // the end of the body comes behind the last frame
		}
		a := &answers{list: []http.HandlerFunc{slow, slow, slow}}
		httpClient, net := serveOn(t, a)
		client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: httpClient})
		for range 3 {
			if got, err := generate(t.Context(), client, true); got.Text != "hello" {
				t.Fatalf("got %+v (%v)", got, err)
			}
		}
		if n := net.dials.Load(); n != 1 {
			t.Errorf("3 answers took %d connections, want 1", n)
		}
	})
}

func TestTooLarge(t *testing.T) {
	long := `{"say":"` + strings.Repeat("x", 2000) + `"}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		stream bool
	}{
		"whole":  {body("application/json", long), false},
		"stream": {stream(long, long, long, long, "[DONE]"), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: []http.HandlerFunc{c.answer}}
				client := newClient(t, provider.ClientConfig{Format: plainFormat{}, HTTP: serve(t, a), MaxBody: 1000})
				_, err := generate(t.Context(), client, c.stream)
				if err == nil || a.n.Load() != 1 {
					t.Errorf("error %v after %d requests, want an error after 1", err, a.n.Load())
				}
			})
		})
	}
}
