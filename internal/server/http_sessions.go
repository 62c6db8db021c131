package server

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the sessions of clients of the older era.
const (
	maxSessions     = 1000 // of one MCP
	maxUserSessions = 100  // of one user of it; the local user, who is alone, has all
)

// opener serves the requests that may begin a session, while there is room.
type opener struct {
	next http.Handler
	pick func(*http.Request) *mcp.Server
	user func(*http.Request) string
	open sessions
}

// ServeHTTP serves one of them.
func (o *opener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, user := o.pick(r), o.user(r)
	if at == nil {
		o.next.ServeHTTP(w, r) // it says so
		return
	}
	if !o.open.begin(user, at) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many sessions; end some, or speak a protocol version without them", http.StatusServiceUnavailable)
		return
	}
	defer func() { o.open.end(user, w.Header().Get("Mcp-Session-Id"), at) }()
	o.next.ServeHTTP(w, r)
}

// sessions knows whose the sessions are: the SDK does not tell. It is safe for
// concurrent use.
type sessions struct {
	mu    sync.Mutex
	users map[string]*userSessions
}

type userSessions struct {
	opening int
	open    map[string]*mcp.Server // by id; some have ended meanwhile
}

// begin reports whether there is room for one more session of a user. Then end
// must be called.
func (s *sessions) begin(user string, at *mcp.Server) bool {
	if len(idsOf(at)) >= maxSessions {
		return false
	}
	if user == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, known := s.users[user]
	if !known {
		u = &userSessions{open: map[string]*mcp.Server{}}
		s.users[user] = u
	}
	byServer := map[*mcp.Server]map[string]struct{}{}
	for id, of := range u.open {
		if _, asked := byServer[of]; !asked {
			byServer[of] = idsOf(of)
		}
		if _, there := byServer[of][id]; !there {
			delete(u.open, id)
		}
	}
	if len(u.open)+u.opening >= maxUserSessions {
		return false
	}
	u.opening++
	return true
}

// end tells what came of it: the id of the session, or "" when there is none.
func (s *sessions) end(user, id string, at *mcp.Server) {
	if user == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[user]
	u.opening--
	if id != "" {
		u.open[id] = at
	}
	if len(u.open)+u.opening == 0 {
		delete(s.users, user)
	}
}

func idsOf(s *mcp.Server) map[string]struct{} {
	out := map[string]struct{}{}
	for session := range s.Sessions() {
		out[session.ID()] = struct{}{}
	}
	return out
}
