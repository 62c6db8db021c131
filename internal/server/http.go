package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionIdle is after which time a session of a client of the older era is
// forgotten.
const sessionIdle = 30 * time.Minute

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
	opening := &opener{next: stateful, pick: pick, user: o.User, open: sessions{users: map[string]*userSessions{}}}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inSession := r.Header.Get("Mcp-Session-Id") != ""
		switch {
		case modern(r.Header.Get("MCP-Protocol-Version")) && !inSession:
			stateless.ServeHTTP(w, r)
		case inSession || r.Method != http.MethodPost: // begins none
			stateful.ServeHTTP(w, r)
		default:
			opening.ServeHTTP(w, r)
		}
	})
	return identified(unbatched(serve, o.MaxBody), o.User)
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
