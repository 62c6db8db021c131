package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsearch/toolsearch/tool"
)

// maxDetail bounds, in bytes, a server's own words inside an error of ours.
const maxDetail = 600

// sampleOf makes the beginning of what a server printed safe to quote.
func sampleOf(b []byte) string {
	return tool.CleanLine(string(b[:min(len(b), 4*maxJunkSample)]), maxJunkSample)
}

// redactor hides the secrets of a server's configuration in texts that the
// server had a hand in, its stderr above all.
type redactor struct {
	replace *strings.Replacer
	forms   []string // what replace looks for, the longest first
}

// minSecret is the shortest value worth hiding: shorter ones are words.
const minSecret = 6

// secrets are the values of the configuration that no text of ours may repeat: of
// the environment, the headers and the address.
func (s *Server) secrets() []string {
	out := tool.AddressSecrets(s.URL, func(_, _ string) bool { return true })
	for _, kv := range s.Env {
		if _, v, ok := strings.Cut(kv, "="); ok {
			out = append(out, v)
		}
	}
	for _, v := range s.Headers {
		out = append(out, tool.HeaderSecrets(v)...)
	}
	return slices.DeleteFunc(out, func(v string) bool { return len(v) < minSecret })
}

func newRedactor(cfg *Server) redactor {
	r := redactor{forms: tool.SecretForms(cfg.secrets()...)}
	pairs := make([]string, 0, 2*len(r.forms))
	for _, s := range r.forms {
		pairs = append(pairs, s, hiddenSecret)
	}
	r.replace = strings.NewReplacer(pairs...)
	return r
}

// hiddenSecret stands where a secret stood.
const hiddenSecret = "[hidden]"

// mostHidden bounds, in bytes, a text that is looked through for secrets. The rest
// of a longer one is dropped: a server may say megabytes, and no more than a
// fraction of this is ever shown.
const mostHidden = 64 << 10

// hide takes the secrets out, also the beginning of one at which a text was cut
// before it came here.
func (r redactor) hide(s string) string {
	const cut = "…" // the mark of tool.Clean
	if len(s) > mostHidden {
		s = strings.ToValidUTF8(s[:mostHidden], "") + cut
	}
	s = r.replace.Replace(s)
	parts := strings.Split(s, cut)
	for i, part := range parts[:len(parts)-1] {
		parts[i] = r.withoutBeginning(part)
	}
	return strings.Join(parts, cut)
}

// withoutBeginning takes the beginning of a secret off the end of a text.
func (r redactor) withoutBeginning(s string) string {
	for _, form := range r.forms {
		for n := min(len(form)-1, len(s)); n >= minSecret; n-- {
			if strings.HasSuffix(s, form[:n]) {
				return s[:len(s)-n] + hiddenSecret
			}
		}
	}
	return s
}

// text hides secrets, cleans and cuts.
func (r redactor) text(s string) string { return tool.CleanLine(r.hide(s), maxDetail) }

// json hides secrets in a JSON text; nil when what is left is none.
func (r redactor) json(raw json.RawMessage) json.RawMessage {
	out := json.RawMessage(r.replace.Replace(string(raw)))
	if !json.Valid(out) {
		return nil
	}
	return out
}

// unavailable is the refusal for a server that cannot take a call now.
func (s *server) unavailable(why, next string) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeUnavailable,
		Reason: fmt.Sprintf("%s is not available: %s", s.cfg.called(), why),
		Next:   next,
	}
}

// RPCError returns the JSON-RPC error with which a server answered a call, as
// it came, and nil when err is of another kind.
func RPCError(err error) *jsonrpc.Error {
	var ce *callError
	if errors.As(err, &ce) {
		return ce.rpc
	}
	return nil
}

// refusedBy reports whether the handshake over stdio ended with an error in the
// server's own words. The SDK uses the same type for errors of an HTTP
// transport, so this is of no use there.
func refusedBy(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc)
}

// maxRPCData bounds, in bytes, the data of a JSON-RPC error that is shown.
const maxRPCData = 16 << 10

// refused turns a JSON-RPC error into what a model may read.
func (s *server) refused(name string, cause error, rpc *jsonrpc.Error) *tool.Error {
	e := &tool.Error{
		Code:   tool.CodeFailed,
		Reason: fmt.Sprintf("%s refused the call of %q: %s (code %d)", s.cfg.called(), name, s.redact.text(rpc.Message), rpc.Code),
		Next:   "Read the message, and describe the tool before you try again.",
		Err:    cause,
	}
	switch rpc.Code {
	case jsonrpc.CodeInvalidParams:
		e.Code = tool.CodeInvalidArgs
		e.Next = "Describe the tool, correct the arguments, and call it again."
	case jsonrpc.CodeMethodNotFound:
		e.Code = tool.CodeUnavailable
	}
	if len(rpc.Data) > 0 && len(rpc.Data) <= maxRPCData {
		e.Details = s.redact.json(rpc.Data)
	}
	return e
}
