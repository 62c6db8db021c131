package modelapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// formatFor is the model API in whose words a request is refused: that of its
// path, or that whose headers it has. nil is none.
func (s *Server) formatFor(r *http.Request) provider.Format {
	api := provider.Chat
	if f := s.paths[r.URL.Path]; f != nil {
		return f
	}
	switch {
	case !strings.HasPrefix(r.URL.Path, "/v1/"):
		return nil
	case r.Header.Get("Anthropic-Version") != "":
		api = provider.Messages
	}
	for _, f := range s.opt.Formats {
		if f.API() == api {
			return f
		}
	}
	return nil
}

// refuse answers with an error, in the words of the API that was asked.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, e *provider.Error) {
	if e.Status < 400 || e.Status > 599 { // an error inside of a provider's stream has none
		c := *e
		c.Status = http.StatusBadGateway
		e = &c
	}
	h := w.Header()
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="toolsearch"`)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if f := s.formatFor(r); f != nil {
		writeJSON(w, e.Status, f.EncodeError(e))
		return
	}
	s.refuseTool(w, e.Status, &tool.Error{Code: codeOf(e.Status), Reason: e.Message})
}

// codeOf puts a status into the words of a tool's refusal.
func codeOf(status int) tool.Code {
	switch status {
	case http.StatusTooManyRequests:
		return tool.CodeLimitExhausted
	case http.StatusServiceUnavailable:
		return tool.CodeUnavailable
	case http.StatusUnauthorized, http.StatusForbidden:
		return tool.CodeBlocked
	case http.StatusInternalServerError, http.StatusBadGateway:
		return tool.CodeFailed
	}
	return tool.CodeInvalidInput
}

// refuseTool answers with {code, reason, next}.
func (s *Server) refuseTool(w http.ResponseWriter, status int, e *tool.Error) {
	raw, err := e.MarshalJSON()
	if err != nil { // only the details can be malformed
		c := *e
		c.Details = nil
		if raw, err = c.MarshalJSON(); err != nil {
			raw = []byte(`{"code":"failed"}`)
		}
	}
	writeJSON(w, status, raw)
}

func writeJSON(w http.ResponseWriter, status int, raw json.RawMessage) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a client that is gone needs no answer
}
