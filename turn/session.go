package turn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of what a planner keeps for its sessions.
const (
	maxFronts = 4096 // conversations whose front is remembered
	maxViews  = 64   // sets of client tools whose index is kept, of which each shares the catalog's
)

// SessionConfig makes a Session.
type SessionConfig struct {
	// Client are the tools that the caller of this run brought.
	Client []*tool.Tool
	// Visible, when not nil, says which of them the model must see itself, and
	// Deferred which it must find by search. Else it sees them all in the modes Off
	// and Directory, and none in the others.
	Visible, Deferred func(*tool.Tool) bool
	// Key names the conversation. A later session of the same key sees the same
	// front; "" remembers none.
	Key string
}

// Session is what one run of a conversation sees and may call: the planner's
// tools and the client's. What stands in the front of its prompt never moves;
// what is behind search follows the sources. It is safe for concurrent use.
type Session struct {
	planner *Planner
	client  []*tool.Tool
	shown   []*tool.Tool // those of client that the model sees itself
	stamp   string       // stands for client and shown
	front   *Front
	// searched says that only client tools are behind search, and all others are
	// exposed directly.
	searched bool

	mu   sync.Mutex
	from *Plan // what view was made of; guarded by mu
	view *surface.View
}

// Front is what a conversation's prompts begin with, before what the client
// brings itself. It is immutable.
type Front struct {
	Mode    surface.Mode
	Listing string // of mode Directory
	Visible []surface.Visible
}

// sessions is what a planner keeps for its sessions.
type sessions struct {
	sync.Mutex
	fronts *simplelru.LRU[string, *Front]
	views  *simplelru.LRU[string, *sharedView]
	of     string // the fingerprint of the plan that views are of
}

// sharedView is a view that is made once, however many sessions ask for it.
type sharedView struct {
	once sync.Once
	view *surface.View
	err  error
}

func newSessions() *sessions {
	fronts, err := simplelru.NewLRU[string, *Front](maxFronts, nil)
	views, err2 := simplelru.NewLRU[string, *sharedView](maxViews, nil)
	if err := errors.Join(err, err2); err != nil {
		panic(err) // only for a size below 1
	}
	return &sessions{fronts: fronts, views: views}
}

// view returns the view of that key, and makes it if there is none. Views of
// another plan are let go: they would keep its tools in memory.
func (s *sessions) view(plan *Plan, key string, build func() (*surface.View, error)) (*surface.View, error) {
	s.Lock()
	if s.of != plan.Fingerprint {
		s.views.Purge()
		s.of = plan.Fingerprint
	}
	shared, known := s.views.Get(key)
	if !known {
		shared = &sharedView{err: errUnbuilt}
		s.views.Add(key, shared)
	}
	s.Unlock()
	shared.once.Do(func() { shared.view, shared.err = build() })
	return shared.view, shared.err
}

// errUnbuilt is what the sessions after one hear whose building panicked.
var errUnbuilt = errors.New("plan a session: its tools could not be put together; the log says why")

// CollisionError tells that client tools bear names that are taken.
type CollisionError struct{ Names []string }

// Error lists the names.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("these tools of the request bear a name that a control, a core tool or another tool has: %s; rename them", strings.Join(e.Names, ", "))
}

// Session begins a run. A *CollisionError tells of client tools whose names are
// taken.
func (p *Planner) Session(c SessionConfig) (*Session, error) {
	plan, err := p.Current()
	if err != nil {
		return nil, err
	}
	s := &Session{planner: p}
	for _, t := range c.Client {
		if p.cfg.Policy.Allows(t) && (p.cfg.Keep == nil || p.cfg.Keep(t)) {
			s.client = append(s.client, t)
		}
	}
	if s.front, err = p.frontOf(c.Key, plan); err != nil {
		return nil, err
	}
	s.choose(c)
	if err := collisions(plan, c.Client, s.front.Mode); err != nil {
		return nil, err
	}
	if s.view, err = s.viewOf(plan); err != nil {
		return nil, err
	}
	s.from = plan
	return s, nil
}

// frontOf returns the front that the conversation began with. Direct exposure
// is the one front that moves, since a tool that it does not show could not be
// found at all; but it stays direct exposure, whatever mode auto chooses now.
func (p *Planner) frontOf(key string, plan *Plan) (*Front, error) {
	view := plan.View
	if key == "" || p.cfg.Mode != surface.Auto && view.Mode == surface.Off {
		return p.front(view), nil
	}
	p.sessions.Lock()
	first, known := p.sessions.fronts.Get(key)
	if !known {
		if first = p.front(view); view.Mode == surface.Off {
			first = &Front{Mode: surface.Off} // of which nothing but the mode holds
		}
		p.sessions.fronts.Add(key, first)
	}
	p.sessions.Unlock()
	if first.Mode != surface.Off {
		return first, nil
	}
	if view.Mode != surface.Off {
		var err error
		view, err = p.sessions.view(plan, string(surface.Off), func() (*surface.View, error) {
			return p.view(surface.Off, plan.Allowed, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	return p.front(view), nil
}

// front is what a view shows.
func (p *Planner) front(v *surface.View) *Front {
	return &Front{Mode: v.Mode, Listing: v.Listing, Visible: v.Visible(p.cfg.Limits)}
}

// choose picks the client tools that the model sees itself.
func (s *Session) choose(c SessionConfig) {
	mode := s.front.Mode
	var stamp strings.Builder
	for _, t := range s.client {
		seen := mode == surface.Off || mode == surface.Directory
		if c.Deferred != nil && c.Deferred(t) {
			seen = false
		}
		if c.Visible != nil && c.Visible(t) {
			seen = true
		}
		if seen {
			s.shown = append(s.shown, t)
			fmt.Fprintf(&stamp, "%q", t.ID)
		}
	}
	if len(s.client) > 0 {
		s.stamp = catalog.Fingerprint(s.client) + stamp.String()
	}
	if mode == surface.Off && len(s.shown) < len(s.client) {
		s.searched = true
		var controls []surface.Visible
		for _, d := range surface.Controls(surface.Tools, s.planner.cfg.Limits) {
			controls = append(controls, surface.Visible{Definition: d})
		}
		s.front = &Front{Mode: surface.Tools, Visible: slices.Concat(controls, s.front.Visible)}
	}
}

// Front is what the conversation's prompts begin with.
func (s *Session) Front() *Front { return s.front }

// Visible lists the tools to send to the model: the front, and after it the
// client's, in the client's order. The result must not be changed.
func (s *Session) Visible() []surface.Visible {
	out := slices.Clip(s.front.Visible)
	for _, t := range s.shown {
		out = append(out, surface.Visible{Definition: surface.Direct(t, surface.WireName(t, s.planner.cfg.NameLimit)), Tool: t})
	}
	return out
}

// View is what the session may call now; nil when planning fails.
func (s *Session) View() *surface.View {
	plan, err := s.planner.Current()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from == plan {
		return s.view
	}
	view, err := s.viewOf(plan)
	if err != nil {
		s.planner.cfg.Logger.Error("planning failed; no tool is shown", "error", err)
		return nil
	}
	s.from, s.view = plan, view
	return view
}

// hidden are the client tools that the model has to find. Those that it sees stand
// in the same order.
func (s *Session) hidden() []*tool.Tool {
	shown := s.shown
	var out []*tool.Tool
	for _, t := range s.client {
		if len(shown) > 0 && shown[0] == t {
			shown = shown[1:]
			continue
		}
		out = append(out, t)
	}
	return out
}

// viewOf puts the client's tools beside those of a plan.
func (s *Session) viewOf(plan *Plan) (*surface.View, error) {
	mode := s.front.Mode
	if len(s.client) == 0 && mode == plan.View.Mode {
		return plan.View, nil
	}
	view, err := s.planner.sessions.view(plan, string(mode)+"\x00"+s.stamp, func() (*surface.View, error) {
		hidden := s.hidden()
		switch {
		case s.searched:
			return s.planner.view(mode, hidden, slices.Concat(plan.Allowed, s.shown))
		case mode == plan.View.Mode && plan.View.Catalog != nil:
			return s.planner.extend(plan.View, hidden, s.shown)
		}
		return s.planner.view(mode, slices.Concat(plan.Allowed, hidden), s.shown)
	})
	if err != nil {
		return nil, err
	}
	out := *view
	out.Catalog = withOutages(view.Catalog, plan.Outages)
	return &out, nil
}

// collisions finds client tools whose names are taken. It looks at what the
// sources offer, not at what the policy leaves: a client must not be able to
// stand in for a tool that is denied.
func collisions(plan *Plan, client []*tool.Tool, mode surface.Mode) error {
	if len(client) == 0 {
		return nil
	}
	taken := func(name string) bool {
		_, core := plan.core[name]
		return core || surface.IsControl(name) || plan.View.Direct.Has(name) ||
			mode == surface.Directory && plan.View.Catalog != nil && len(plan.View.Catalog.Named(name)) > 0
	}
	seen := make(map[string]struct{}, len(client))
	var out CollisionError
	for _, t := range client {
		if _, twice := seen[t.Name]; twice || taken(t.Name) {
			out.Names = append(out.Names, fmt.Sprintf("%q", tool.Clean(t.Name, 128)))
		}
		seen[t.Name] = struct{}{}
	}
	if len(out.Names) == 0 {
		return nil
	}
	return &out
}
