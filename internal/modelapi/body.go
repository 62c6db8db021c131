package modelapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// bodyTime bounds how long a request may take to arrive after its headers.
const bodyTime = time.Minute

// boundBody bounds how long a body may take that no handler reads: before an
// answer goes out, net/http waits for what was announced, and would do so for ever,
// also for clients that have shown no key.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // none on a recorder
	}
}

// turnAway lets whoever may not ask wait no longer than for its headers: the answer
// goes out at once, and what it announced is not waited for.
func turnAway(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime)) // none on a recorder
	}
}

// readBody reads a request's body whole, within the bounds. The bytes that it
// returns are taken from the budget: s.bodies.give gives them back.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, c Caller) ([]byte, *provider.Error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, refusal(http.StatusUnsupportedMediaType, "compressed requests are not read; send it without Content-Encoding")
	}
	if r.ContentLength > s.opt.MaxBody {
		return nil, s.tooLarge()
	}
	if !s.bodies.has(c.Name, r.ContentLength) {
		return nil, tooMuch()
	}
	// A recorder of tests has no deadlines; a connection of net/http always does.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime))
	in := &weighed{ReadCloser: http.MaxBytesReader(w, r.Body, s.opt.MaxBody), of: s.bodies, caller: c.Name}
	body, err := io.ReadAll(in)
	if err != nil {
		s.bodies.give(c.Name, in.n)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, s.tooLarge()
	case errors.Is(err, errCrowded):
		w.Header().Set("Connection", "close") // the rest of it is not waited for
		return nil, tooMuch()
	case err != nil:
		return nil, refusal(http.StatusBadRequest, "the request did not arrive whole")
	}
	_ = rc.SetReadDeadline(time.Time{}) // from here on only the client's leaving is looked for
	return body, nil
}

// timedBody is a body that a handler of its own reads: it has as long to arrive.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func timed(w http.ResponseWriter, body io.ReadCloser) timedBody {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // none on a recorder
	return timedBody{body, rc}
}

// Read lifts the bound once the body is whole.
func (b timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{}) // none on a recorder
	}
	return n, err
}

func (s *Server) tooLarge() *provider.Error {
	e := refusal(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes; serve.maxBodyBytes bounds it", s.opt.MaxBody))
	e.Type = "request_too_large"
	return e
}

func refusal(status int, message string) *provider.Error {
	return &provider.Error{Status: status, Message: message}
}
