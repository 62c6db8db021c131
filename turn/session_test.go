package turn_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

func clientTool(name string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.Client, tool.ClientOwner, name), Source: tool.Client, Owner: tool.ClientOwner, Name: name,
		Description: "Does " + name, Input: tool.RawSchema(`{"type":"object"}`), Revision: "1",
	}
}

func coreTool(name string, mode tool.CatalogMode) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(tool.OpenClaw, tool.CoreOwner, name), Source: tool.OpenClaw, Owner: tool.CoreOwner, Name: name,
		Description: "Does " + name, Input: tool.RawSchema(`{"type":"object"}`), Mode: mode, Revision: "1",
	}
}

func planner(t *testing.T, mode surface.Mode, rules policy.Rules, s turn.Source) *turn.Planner {
	t.Helper()
	p := turn.NewPlanner(turn.Config{
		Mode: mode, Policy: compile(t, rules), Sources: []turn.Source{s},
		Limits: catalog.Limits{Default: 8, Max: 20}, NameLimit: surface.ModelNameLimit,
	})
	if _, err := p.Refresh(); err != nil {
		t.Fatal(err)
	}
	return p
}

// hashOf is the hash of what a prompt begins with.
func hashOf(s *turn.Session) string {
	h := sha256.New()
	for _, v := range s.Visible() {
		fmt.Fprintf(h, "%q %q %s\n", v.Name, v.Description, v.Parameters)
	}
	fmt.Fprint(h, s.Front().Listing)
	return hex.EncodeToString(h.Sum(nil))
}

// The front of a conversation's prompts is the same bytes over 50 turns, while
// servers join, leave and change; what is behind search follows them.
func TestFrontNeverMoves(t *testing.T) {
	direct := func(i int) *tool.Tool { // a server's tool that is always shown, and changes
		d := mcpTool("pinned", "always")
		d.Mode, d.Revision, d.Description = tool.DirectOnly, fmt.Sprint(i), fmt.Sprintf("Version %d", i)
		return d
	}
	for _, mode := range []surface.Mode{surface.Tools, surface.Code, surface.Directory} {
		t.Run(string(mode), func(t *testing.T) {
			s := newSource(direct(0), coreTool("first", tool.Cataloged), mcpTool("a", "one"))
			p := planner(t, mode, policy.Rules{}, s)
			client := []*tool.Tool{clientTool("pick_file")}
			var front string
			for i := range 50 {
				tools := []*tool.Tool{coreTool("first", tool.Cataloged), coreTool(fmt.Sprintf("later_%d", i), tool.Cataloged), mcpTool(fmt.Sprintf("s%d", i), "work")}
				if i%3 > 0 {
					tools = append(tools, direct(i))
				}
				if i > 0 {
					s.set(turn.Snapshot{Tools: tools})
				}
				if _, err := p.Refresh(); err != nil {
					t.Fatal(err)
				}
				session, err := p.Session(turn.SessionConfig{Key: "conversation", Client: client})
				if err != nil {
					t.Fatal(err)
				}
				got := hashOf(session)
				if front == "" {
					front = got
				}
				if got != front {
					t.Fatalf("turn %d begins with other bytes", i)
				}
				if i == 0 {
					continue
				}
				if _, err := session.View().Catalog.Resolve(fmt.Sprintf("later_%d", i)); err != nil {
					t.Fatalf("turn %d does not know what came: %v", i, err)
				}
				if _, err := session.View().Catalog.Resolve(fmt.Sprintf("later_%d", i-1)); err == nil && i > 1 {
					t.Fatalf("turn %d still knows what went", i)
				}
			}
			fresh, err := p.Session(turn.SessionConfig{Key: "another", Client: client})
			if err != nil {
				t.Fatal(err)
			}
			if hashOf(fresh) == front {
				t.Error("a new conversation begins with the tools of long ago")
			}
		})
	}
}

// A session that is running sees the tools that come meanwhile.
func TestSessionFollowsTheSources(t *testing.T) {
	s := newSource(mcpTool("a", "one"))
	p := planner(t, surface.Tools, policy.Rules{}, s)
	session, err := p.Session(turn.SessionConfig{Client: []*tool.Tool{clientTool("pick_file")}})
	if err != nil {
		t.Fatal(err)
	}
	first := session.View()
	if session.View() != first {
		t.Error("an unchanged plan made another view")
	}
	s.set(turn.Snapshot{Tools: []*tool.Tool{mcpTool("a", "two")}, Outages: []catalog.Outage{{Owner: "b", Reason: "down"}}})
	if _, err := p.Refresh(); err != nil {
		t.Fatal(err)
	}
	next := session.View().Catalog
	for _, name := range []string{"two", "pick_file"} {
		if _, err := next.Resolve(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(next.Outages()) != 1 {
		t.Errorf("outages are %+v", next.Outages())
	}
}

// Where the tools of a client stand, by mode, and what the policy takes away.
func TestClientTools(t *testing.T) {
	tests := []struct {
		name            string
		mode            surface.Mode
		rules           policy.Rules
		visible         func(*tool.Tool) bool
		deferred        func(*tool.Tool) bool
		visibly, hidden []string
	}{
		{name: "tools", mode: surface.Tools, hidden: []string{"one", "pick_file", "say"}},
		{name: "code", mode: surface.Code, hidden: []string{"one", "pick_file", "say"}},
		{name: "directory", mode: surface.Directory, visibly: []string{"pick_file", "say"}, hidden: []string{"one"}},
		{name: "off", mode: surface.Off, visibly: []string{"a__one", "pick_file", "say"}},
		{name: "one must be seen", mode: surface.Tools, visible: func(t *tool.Tool) bool { return t.Name == "say" }, visibly: []string{"say"}, hidden: []string{"one", "pick_file"}},
		{name: "one is deferred", mode: surface.Directory, deferred: func(t *tool.Tool) bool { return t.Name == "say" }, visibly: []string{"pick_file"}, hidden: []string{"one", "say"}},
		{name: "one is deferred and search is off", mode: surface.Off, deferred: func(t *tool.Tool) bool { return t.Name == "say" }, visibly: []string{"a__one", "pick_file"}, hidden: []string{"say"}},
		{name: "denied", mode: surface.Tools, rules: policy.Rules{Deny: entries("say")}, hidden: []string{"one", "pick_file"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := planner(t, tt.mode, tt.rules, newSource(mcpTool("a", "one")))
			s, err := p.Session(turn.SessionConfig{Client: []*tool.Tool{clientTool("pick_file"), clientTool("say")}, Visible: tt.visible, Deferred: tt.deferred})
			if err != nil {
				t.Fatal(err)
			}
			var visibly, hidden []string
			for _, v := range s.Visible() {
				if v.Tool != nil {
					visibly = append(visibly, v.Name)
				}
			}
			if c := s.View().Catalog; c != nil {
				for _, h := range c.Tools() {
					hidden = append(hidden, h.Name)
				}
			}
			slices.Sort(hidden)
			if !slices.Equal(visibly, tt.visibly) || !slices.Equal(hidden, tt.hidden) {
				t.Errorf("visible %q, hidden %q; want %q, %q", visibly, hidden, tt.visibly, tt.hidden)
			}
			for _, name := range visibly {
				if s.View().Direct.All(); name != "" {
					if _, ok := s.View().Direct.Lookup(name); !ok {
						t.Errorf("%s is shown and cannot be called", name)
					}
				}
			}
		})
	}
}

func TestClientToolCollisions(t *testing.T) {
	shown := coreTool("image", tool.DirectOnly)
	shown.Owner, shown.ID = "pictures", "openclaw:pictures:image"
	source := newSource(coreTool("read", tool.Cataloged), mcpTool("a", "one"), shown)
	tests := []struct {
		name   string
		mode   surface.Mode
		rules  policy.Rules
		client []string
		want   []string
	}{
		{name: "none", mode: surface.Tools, client: []string{"pick_file", "one"}},
		{name: "a control", mode: surface.Code, client: []string{"tool_search"}, want: []string{`"tool_search"`}},
		{name: "a core tool", mode: surface.Tools, client: []string{"read", "x"}, want: []string{`"read"`}},
		{name: "a core tool that is denied", mode: surface.Tools, rules: policy.Rules{Deny: entries("read")}, client: []string{"read"}, want: []string{`"read"`}},
		{name: "each other", mode: surface.Off, client: []string{"x", "x"}, want: []string{`"x"`}},
		{name: "a tool the model sees", mode: surface.Tools, client: []string{"image"}, want: []string{`"image"`}},
		{name: "a cataloged tool in directory mode", mode: surface.Directory, client: []string{"one", "read", "two"}, want: []string{`"one"`, `"read"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var client []*tool.Tool
			for _, name := range tt.client {
				client = append(client, clientTool(name))
			}
			_, err := planner(t, tt.mode, tt.rules, source).Session(turn.SessionConfig{Client: client})
			var collision *turn.CollisionError
			if errors.As(err, &collision) {
				if !slices.Equal(collision.Names, tt.want) {
					t.Errorf("names are %q, want %q", collision.Names, tt.want)
				}
			} else if err != nil || tt.want != nil {
				t.Errorf("got %v, want a collision of %q", err, tt.want)
			}
		})
	}
}
