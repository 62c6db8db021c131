// Package mock is a server that speaks the model APIs and follows a script: it
// answers with texts, calls and usage at the pace of a model, and with the
// faults that models and their servers have. It keeps what it was sent.
//
// It stands in for a model in end-to-end tests and in the program's own proof,
// so it is not bound to Go's tests.
package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Script says what a Server answers.
type Script struct {
	// Steps answer the requests in the order in which they arrive. A request
	// behind the last step is refused with status 400.
	Steps []Step
	// Choose, where it is set, answers in place of Steps. It is called from many
	// goroutines.
	Choose func(x *Exchange) Step
	// Formats are the APIs spoken; nil means all three.
	Formats []provider.Format
	// Models are the names that GET …/models lists; nil means "mock".
	Models []string
	// Delay is the Delay of steps that have none.
	Delay time.Duration
	// MaxKept and MaxKeptBytes bound what Requests returns, in requests and in
	// bytes of their bodies: the oldest are dropped. 0 means 1,000 and 64 MiB.
	MaxKept      int
	MaxKeptBytes int
}

// maxBody bounds a request. Five thousand tools take about 7 MB.
const maxBody = 64 << 20

// Server is an http.Handler that follows a script. It serves each API at any
// path that ends in the API's own, such as /v1/chat/completions, and the list
// of models at any that ends in /models.
type Server struct {
	script Script

	mu      sync.Mutex
	kept    []*Exchange
	bytes   int           // of the bodies in kept
	arrived int           // requests so far
	news    chan struct{} // closed and replaced when a request arrives
}

// New returns a server that has answered nothing yet.
func New(s Script) *Server {
	if s.Formats == nil {
		s.Formats = allFormats()
	}
	if s.Models == nil {
		s.Models = []string{"mock"}
	}
	if s.MaxKept <= 0 {
		s.MaxKept = 1000
	}
	if s.MaxKeptBytes <= 0 {
		s.MaxKeptBytes = 64 << 20
	}
	return &Server{script: s, news: make(chan struct{})}
}

// Listen serves on addr, such as "127.0.0.1:0" for any free port, and returns
// the base URL to configure, which ends in /v1. stop breaks what is running.
func (s *Server) Listen(addr string) (baseURL string, stop func() error, err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("start the mock of a model API: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	stop = func() error {
		err := srv.Close()
		if serr := <-done; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}
	return "http://" + l.Addr().String() + "/v1", stop, nil
}

// ServeHTTP answers one request. Where the script says that the connection
// breaks, it panics with http.ErrAbortHandler, as net/http asks for.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		s.listModels(w)
		return
	}
	f := s.format(r.URL.Path)
	if f == nil || r.Method != http.MethodPost {
		http.Error(w, "no model API is served here", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, f, &provider.Error{Status: http.StatusRequestEntityTooLarge, Message: err.Error()})
		return
	}
	x := &Exchange{
		Arrived: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(),
		Body: body, API: f.API(), done: make(chan struct{}),
	}
	x.Request, x.Err = f.DecodeRequest(body)
	s.keep(x)
	p := &player{w: w, flush: http.NewResponseController(w), request: r, format: f, exchange: x}
	defer func() {
		x.outcome = p.outcome()
		close(x.done)
		if x.outcome == Broken {
			panic(http.ErrAbortHandler)
		}
	}()
	if x.Err != nil {
		p.refuse(asError(x.Err))
		return
	}
	p.play(s.step(x))
}

func (s *Server) format(path string) provider.Format {
	for _, f := range s.script.Formats {
		if strings.HasSuffix(path, f.Path()) {
			return f
		}
	}
	return nil
}

func (s *Server) step(x *Exchange) Step {
	var step Step
	switch n := x.N - 1; {
	case s.script.Choose != nil:
		step = s.script.Choose(x)
	case n < len(s.script.Steps):
		step = s.script.Steps[n]
	default:
		step = Step{Fault: Fault{Status: http.StatusBadRequest, Message: fmt.Sprintf("the script has %d steps, and this is request %d", n, x.N)}}
	}
	if step.Delay == 0 {
		step.Delay = s.script.Delay
	}
	return step
}

// asError gives a request that could not be read the status of a bad one.
func asError(err error) *provider.Error {
	var e *provider.Error
	if errors.As(err, &e) {
		return e
	}
	return &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: err.Error()}
}

func refuse(w http.ResponseWriter, f provider.Format, e *provider.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(f.EncodeError(e)) // a client that is gone reads no error
}

// listModels answers in words that clients of both vendors read.
func (s *Server) listModels(w http.ResponseWriter) {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"`
		OwnedBy     string `json:"owned_by"`
		Type        string `json:"type"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	list := struct {
		Object  string  `json:"object"`
		Data    []model `json:"data"`
		HasMore bool    `json:"has_more"`
	}{Object: "list", Data: []model{}}
	for _, name := range s.script.Models {
		list.Data = append(list.Data, model{name, "model", 0, "mock", "model", name, "1970-01-01T00:00:00Z"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // a client that is gone reads no list
}
