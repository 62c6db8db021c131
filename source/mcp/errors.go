package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsearch/toolsearch/tool"
)

// maxDetail bounds, in bytes, a server's own words inside an error of ours.
const maxDetail = 600

// sampleOf makes the beginning of what a server printed safe to quote.
func sampleOf(b []byte) string {
	return oneLine(string(b[:min(len(b), 4*maxJunkSample)]), maxJunkSample)
}

// redactor hides the secrets of a server's configuration in texts that the
// server had a hand in, its stderr above all.
type redactor struct{ replace *strings.Replacer }

// minSecret is the shortest value worth hiding: shorter ones are words.
const minSecret = 6

func newRedactor(cfg *Server) redactor {
	var secrets []string
	add := func(v string) {
		if len(v) >= minSecret {
			secrets = append(secrets, v)
		}
	}
	for _, kv := range cfg.Env {
		_, v, _ := strings.Cut(kv, "=")
		add(v)
	}
	for _, v := range cfg.Headers {
		add(v)
		_, token, _ := strings.Cut(v, " ") // "Bearer …"
		add(token)
	}
	if u, err := url.Parse(cfg.URL); err == nil {
		for _, vs := range u.Query() {
			for _, v := range vs {
				add(v)
				add(url.QueryEscape(v))
			}
		}
		if pw, ok := u.User.Password(); ok {
			add(pw)
		}
	}
	// The longest first, so that no part of a secret survives.
	sort.Slice(secrets, func(i, j int) bool {
		if len(secrets[i]) != len(secrets[j]) {
			return len(secrets[i]) > len(secrets[j])
		}
		return secrets[i] < secrets[j]
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "[hidden]")
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// text hides secrets, cleans and cuts.
func (r redactor) text(s string) string { return oneLine(r.replace.Replace(s), maxDetail) }

// unavailable is the refusal for a server that cannot take a call now.
func (s *server) unavailable(why, next string) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeUnavailable,
		Reason: fmt.Sprintf("MCP server %q is not available: %s", s.cfg.Name, why),
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
		Reason: fmt.Sprintf("MCP server %q refused the call of %q: %s (code %d)", s.cfg.Name, name, s.redact.text(rpc.Message), rpc.Code),
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
	if len(rpc.Data) > 0 && len(rpc.Data) <= maxRPCData && json.Valid(rpc.Data) {
		e.Details = rpc.Data
	}
	return e
}
