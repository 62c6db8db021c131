package modelapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// statusCancelled is what nginx logs of a client that has left; nobody reads it.
const statusCancelled = 499

// invoke runs one tool: POST /tools/invoke {tool, args, session?}. The answer is
// {tool, result}; a failure that the tool itself reports is a result with
// isError. What keeps a tool from being run is {code, reason, next}.
func (s *Server) invoke(w http.ResponseWriter, r *http.Request, c Caller) {
	body, refused := s.readBody(w, r, c)
	if refused != nil {
		s.refuse(w, r, refused)
		return
	}
	defer s.bodies.give(c.Name, int64(len(body)))
	i, err := readInvocation(body)
	if err != nil {
		s.refuseTool(w, http.StatusBadRequest, err)
		return
	}
	i.Caller = c
	t, res, failed := s.opt.Backend.CallTool(r.Context(), i)
	if failed != nil {
		var te *tool.Error
		if !errors.As(failed, &te) {
			s.logger.Error("a tool cannot be invoked", "tool", tool.Clean(i.Ref, 200), "error", failed)
			te = &tool.Error{Code: tool.CodeFailed, Reason: "the server failed; its log says more"}
		}
		s.refuseTool(w, statusOf(te.Code), te)
		return
	}
	raw, encodeErr := surface.EnvelopeDetails(t, res)
	if encodeErr != nil {
		s.logger.Error("a result cannot be written", "tool", t.ID, "error", encodeErr)
		s.refuseTool(w, http.StatusInternalServerError, &tool.Error{
			Code: tool.CodeInvalidOutput, Reason: fmt.Sprintf("the result of %s cannot be written", t.ID),
			Next: "It may have taken effect: check before you repeat it.",
		})
		return
	}
	writeJSON(w, http.StatusOK, raw)
}

// Bounds of texts, in bytes: the name of a conversation, and a tool's id, whose
// name and owner have at most 128 each.
const (
	maxSession = 128
	maxRef     = 512
)

func readInvocation(body []byte) (Invocation, *tool.Error) {
	bad := func(reason, next string) (Invocation, *tool.Error) {
		return Invocation{}, &tool.Error{Code: tool.CodeInvalidInput, Reason: "invoke a tool: " + reason, Next: next}
	}
	const shape = `Send {"tool": "ID or name", "args": {…}, "session": "optional"}.`
	o, err := tool.ReadObject(body)
	if err != nil {
		return bad("the request is not a JSON object", shape)
	}
	if name, twice := o.Repeated(); twice { // readers differ in which of them counts
		return bad(fmt.Sprintf("field %q stands twice", tool.Clean(name, 100)), shape)
	}
	var i Invocation
	for _, m := range o {
		ok := true
		switch m.Name {
		case "tool":
			i.Ref, ok = tool.ReadString(m.Value)
			ok = ok && len(i.Ref) <= maxRef
		case "session", "sessionKey":
			i.Session, ok = tool.ReadString(m.Value)
			ok = ok && validSession(i.Session)
		case "args":
			i.Args = m.Value
			args, err := tool.ReadObject(m.Value)
			_, twice := args.Repeated()
			ok = err == nil && !twice
		default:
			return bad(fmt.Sprintf("unknown field %q", tool.Clean(m.Name, 100)), shape)
		}
		if !ok {
			return bad(fmt.Sprintf("field %q is wrong", m.Name), shape)
		}
	}
	if i.Ref == "" {
		return bad("field \"tool\" is missing", shape)
	}
	return i, nil
}

// validSession reports whether a text may name a conversation.
func validSession(s string) bool {
	return s != "" && len(s) <= maxSession && strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c >= 0x7F }) < 0
}

// statusOf puts a tool's refusal into HTTP's words.
func statusOf(c tool.Code) int {
	switch c {
	case tool.CodeUnknownTool:
		return http.StatusNotFound
	case tool.CodeAmbiguous:
		return http.StatusConflict
	case tool.CodeInvalidInput, tool.CodeInvalidArgs, tool.CodeCallDirectly:
		return http.StatusBadRequest
	case tool.CodeBlocked:
		return http.StatusForbidden
	case tool.CodeUnavailable, tool.CodeCatalogGone:
		return http.StatusServiceUnavailable
	case tool.CodeTimeout:
		return http.StatusGatewayTimeout
	case tool.CodeLimitExhausted:
		return http.StatusTooManyRequests
	case tool.CodeCancelled:
		return statusCancelled
	}
	return http.StatusBadGateway // the tool failed, or broke its own schema
}
