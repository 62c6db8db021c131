package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the sessions of clients of the older era.
const (
	sessionIdle = 30 * time.Minute // after which one is forgotten
	maxSessions = 1000             // of one MCP
)

// HTTPOptions make a handler of MCP over streamable HTTP.
type HTTPOptions struct {
	// Server picks the MCP of whoever asks; nil is an error that the client sees
	// as 400.
	Server func(*http.Request) *MCP
	// User names the authenticated identity of a request, "" for the local user. A
	// session is its user's alone. The handler itself authenticates nobody.
	User func(*http.Request) string
	// Guarded says that the Host header was looked at before. Else a local server
	// answers under the machine's own names alone.
	Guarded bool
	MaxBody int64 // bytes of one request; at least 1
	Logger  *slog.Logger
}

// NewHTTP serves both eras on one URL: requests of the stateless era have no
// session, all others one.
func NewHTTP(o HTTPOptions) http.Handler {
	pick := func(r *http.Request) *mcp.Server {
		if m := o.Server(r); m != nil {
			return m.Server()
		}
		return nil
	}
	stateful := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionIdle, MaxRequestBodyBytes: o.MaxBody, Logger: o.Logger, DisableLocalhostProtection: o.Guarded,
	})
	stateless := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: o.MaxBody, Logger: o.Logger, PropagateRequestCancellation: true, DisableLocalhostProtection: o.Guarded,
	})
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inSession := r.Header.Get("Mcp-Session-Id") != ""
		switch {
		case modern(r.Header.Get("MCP-Protocol-Version")) && !inSession:
			stateless.ServeHTTP(w, r)
		case !inSession && crowded(pick(r)):
			w.Header().Set("Retry-After", "60")
			http.Error(w, "too many sessions; end some, or speak a protocol version without them", http.StatusServiceUnavailable)
		default:
			stateful.ServeHTTP(w, r)
		}
	})
	return identified(serve, o.User)
}

func crowded(s *mcp.Server) bool {
	if s == nil {
		return false
	}
	n := 0
	for range s.Sessions() {
		n++
	}
	return n >= maxSessions
}

// identified tells the SDK who asks, which it takes only from its own check of
// bearer tokens. Whoever calls has checked the key already: what stands in the
// header here is none.
func identified(next http.Handler, user func(*http.Request) string) http.Handler {
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: user(r)}, nil
	}
	checked := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user(r) == "" {
			next.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer known")
		r.Header.Del("X-Api-Key")
		checked.ServeHTTP(w, r)
	})
}
