package modelapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// Times of connections. Answers have no bound as a whole, since a model may
// take long; each write has one.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	writeTime  = 30 * time.Second
	maxHeader  = 64 << 10 // bytes
	// cancelTime is how long cancelled requests have to end before their
	// connections are closed.
	cancelTime = 5 * time.Second
)

// Server serves the endpoints. It is safe for concurrent use.
type Server struct {
	opt     Options
	keys    keyring
	paths   map[string]provider.Format
	gate    *gate
	held    *held
	past    *past
	kept    *keeper
	listens *shares // streams of MCP
	bodies  *budget

	readiness readiness
	handler   http.Handler
	logger    *slog.Logger
}

// New makes a server. Close must be called, unless Serve was.
func New(opt Options) (*Server, error) {
	if err := opt.defaults(); err != nil {
		return nil, err
	}
	keys, err := newKeyring(opt.Keys)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: opt, keys: keys, logger: opt.Logger,
		paths:     map[string]provider.Format{},
		gate:      newGate(opt.MaxRequests, len(keys)),
		held:      newHeld(opt.HeldRuns, opt.HeldTime),
		past:      newPast(),
		listens:   newShares(maxListening),
		bodies:    newBudget(opt.MaxBodies, opt.MaxBody, len(keys)),
		readiness: readiness{look: opt.Backend.Ready},
	}
	var responses provider.Format
	for _, f := range opt.Formats {
		s.paths[pathOf(f.API())] = f
		if f.API() == provider.Responses {
			responses = f
		}
	}
	s.kept = newKeeper(opt.Past, responses, opt.Logger)
	s.handler = s.routes()
	return s, nil
}

// pathOf is where an API is served, as its vendor's clients expect it.
func pathOf(a provider.API) string {
	switch a {
	case provider.Chat:
		return "/v1/chat/completions"
	case provider.Responses:
		return "/v1/responses"
	}
	return "/v1/messages"
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the runs that are held, and waits until what is to be kept is written.
func (s *Server) Close() {
	s.gate.close()
	s.held.close()
	s.kept.close()
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	on := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, h)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			s.refuse(w, r, refusal(http.StatusMethodNotAllowed, fmt.Sprintf("%s takes %s", path, method)))
		})
	}
	on("GET", "/healthz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, []byte(`{"ok":true}`)) })
	on("GET", "/readyz", s.ready)
	for path, f := range s.paths {
		on("POST", path, s.known(func(w http.ResponseWriter, r *http.Request, c Caller) { s.generate(w, r, c, f) }))
	}
	on("GET", "/v1/models", s.known(s.listModels))
	on("GET", "/v1/models/{id...}", s.known(s.showModel))
	on("POST", "/tools/invoke", s.known(s.invoke))
	if s.opt.Metrics != nil {
		on("GET", "/metrics", s.known(s.metrics))
	}
	if s.opt.MCP != nil {
		mux.Handle("/mcp", s.mcp())
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, refusal(http.StatusNotFound, "nothing is served at this path"))
	})
	return s.around(mux)
}

// metrics names the tools that are called, by whomever: not for a caller that is
// denied some of them.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, c Caller) {
	if c.noMetrics {
		s.refuse(w, r, refusal(http.StatusForbidden, "the metrics are not for this key; serve.keys[].metrics: true lets one read them"))
		return
	}
	s.opt.Metrics.ServeHTTP(w, r)
}

type callerKey struct{}

// CallerOf is who asks, for the handlers of Options.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// known lets in whoever has a key, while there is room.
func (s *Server) known(h func(http.ResponseWriter, *http.Request, Caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, ok := s.admit(w, r)
		if !ok {
			return
		}
		switch s.gate.enter(caller.Name) {
		case full:
			s.refuse(w, r, &provider.Error{Status: http.StatusTooManyRequests, RetryAfter: time.Second, Message: "too many requests at one time; try again"})
			return
		case greedy:
			s.refuse(w, r, &provider.Error{Status: http.StatusTooManyRequests, RetryAfter: time.Second, Message: "you have too many requests at one time; wait for one to end"})
			return
		case shut:
			w.Header().Set("Connection", "close")
			s.refuse(w, r, &provider.Error{Status: http.StatusServiceUnavailable, RetryAfter: time.Second, Message: "the server is shutting down; ask it again later"})
			return
		}
		defer s.gate.leave(caller.Name)
		h(w, r, caller)
	}
}

// admit looks at where a request comes from, and from whom.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (Caller, bool) {
	if why := s.guard(r); why != "" {
		turnAway(w, r)
		s.refuse(w, r, refusal(http.StatusForbidden, why))
		return Caller{}, false
	}
	caller, ok := s.identify(r)
	if !ok {
		e := refusal(http.StatusUnauthorized, "the key is missing or wrong; send it as Authorization: Bearer KEY")
		e.Code = "invalid_api_key"
		turnAway(w, r)
		s.refuse(w, r, e)
		return Caller{}, false
	}
	if log, ok := w.(*logged); ok {
		log.caller = caller.Name
	}
	return caller, true
}

// mcp serves MCP behind the same keys. Its streams may stand open for hours: a
// shutdown does not wait for those that only listen.
func (s *Server) mcp() http.Handler {
	serve := func(w http.ResponseWriter, r *http.Request, c Caller) {
		if !s.bodies.has(c.Name, r.ContentLength) {
			s.refuse(w, r, tooMuch())
			return
		}
		body := &weighed{ReadCloser: http.MaxBytesReader(w, r.Body, s.opt.MaxBody), of: s.bodies, caller: c.Name}
		defer func() { s.bodies.give(c.Name, body.n) }()
		r.Body = timed(w, body)
		w.Header().Set("X-Accel-Buffering", "no")
		s.opt.MCP.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	}
	counted := s.known(serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			counted(w, r)
			return
		}
		caller, ok := s.admit(w, r)
		switch {
		case !ok: // it was answered
		case s.gate.closed():
			s.refuse(w, r, refusal(http.StatusServiceUnavailable, "the server is shutting down"))
		case !s.listens.take(caller.Name):
			s.refuse(w, r, &provider.Error{
				Status: http.StatusTooManyRequests, RetryAfter: time.Second,
				Message: fmt.Sprintf("a caller listens to %d streams at most; end some", maxListening),
			})
		default:
			defer s.listens.give(caller.Name)
			serve(w, r, caller)
		}
	})
}

// around is what every request gets: an id, a line in the log, and a panic that
// ends it alone.
func (s *Server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log := &logged{ResponseWriter: w, began: time.Now()}
		id := "req_" + rand.Text()
		w.Header().Set("X-Request-Id", id)
		// net/http leaves the deadline of the last answer on the connection.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // none on a recorder
		boundBody(w, r)
		defer func() {
			p := recover()
			if p != nil && !isAbort(p) {
				s.logger.Error("a request panicked", "id", id, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if log.status == 0 {
					s.refuse(log, r, refusal(http.StatusInternalServerError, "the server failed; its log says more under "+id))
					p = nil
				} else {
					p = http.ErrAbortHandler // what was begun cannot be taken back: it must not look whole
				}
			}
			s.logger.Info("request", "id", id, "method", r.Method, "path", tool.Clean(r.URL.Path, 200), "status", log.status,
				"bytes", log.bytes, "time", time.Since(log.began).Round(time.Microsecond), "caller", log.caller)
			if p != nil {
				panic(p)
			}
		}()
		next.ServeHTTP(log, r)
		log.hurry() // net/http writes the end of a stream, perhaps long after its last event
	})
}

func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// logged remembers what was answered.
type logged struct {
	http.ResponseWriter
	began  time.Time
	status int
	bytes  int64
	caller string
}

// Unwrap is for http.ResponseController.
func (l *logged) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush is for handlers that ask for an http.Flusher.
func (l *logged) Flush() { _ = l.FlushError() } // what cannot be flushed comes at the end

// FlushError is for http.ResponseController.
func (l *logged) FlushError() error {
	if l.status == 0 {
		l.status = http.StatusOK
	}
	l.hurry()
	return http.NewResponseController(l.ResponseWriter).Flush()
}

// hurry gives the client writeTime from now to read what is written next: one
// that does not read must not hold a handler for ever.
func (l *logged) hurry() {
	_ = http.NewResponseController(l.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // none on a recorder
}

func (l *logged) WriteHeader(status int) {
	if l.status == 0 {
		l.status = status
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l *logged) Write(b []byte) (int, error) {
	if l.status == 0 {
		l.status = http.StatusOK
	}
	l.hurry()
	n, err := l.ResponseWriter.Write(b)
	l.bytes += int64(n)
	return n, err
}

// Serve answers the requests of a listener until ctx ends. Then it drains: new
// requests are refused, and those going on have Options.Drain to end before they
// are cancelled. A listener that other machines reach is refused while there are
// no keys, with an *OpenError.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	if err := CheckListener(l.Addr(), len(s.keys)); err != nil {
		return errors.Join(err, l.Close())
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.gate.close()
	server.SetKeepAlivesEnabled(false)
	if !s.waitIdle(s.opt.Drain) {
		s.logger.Warn("requests that take longer than the drain are cancelled", "drain", s.opt.Drain)
	}
	cancel()
	s.waitIdle(cancelTime)
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if server.Shutdown(last) != nil {
		_ = server.Close() // what still stands open is of clients that do not read
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}

func (s *Server) waitIdle(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return s.gate.wait(ctx)
}
