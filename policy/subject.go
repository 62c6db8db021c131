package policy

import (
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// sources is a set of tool sources.
type sources uint8

const (
	fromOpenClaw sources = 1 << iota
	fromMCP
	fromClient
	fromAny = fromOpenClaw | fromMCP | fromClient
)

// sourceBit returns the set that holds s alone, empty for an unknown source.
func sourceBit(s tool.Source) sources {
	switch s {
	case tool.OpenClaw:
		return fromOpenClaw
	case tool.MCP:
		return fromMCP
	case tool.Client:
		return fromClient
	}
	return 0
}

// view is a tool's identity in one kind of folding.
type view struct {
	canon []byte // source:owner:name
	group []byte // source:owner
	owner []byte
	name  []byte
	id    []byte // the tool's own id where it differs from canon, else nil
}

// subject is a tool, prepared once for all the rules that look at it. It lives
// on the stack of one decision.
type subject struct {
	source  sources
	groups  bits
	control bool
	deny    view
	allow   view
}

// textSize holds the folded identity of all but unusual tools without an
// allocation; longer ones only cost one.
const textSize = 192

// texts are the buffers of one subject. The narrow view gets none: it differs
// from the broad one only for names outside ASCII.
type texts struct{ canon, id [textSize]byte }

// prepare returns t as rules see it, and reports whether rules can speak of it
// at all: it has a known source and a name. The subject points into buf.
func (v *vocabulary) prepare(t *tool.Tool, buf *texts) (subject, bool) {
	if t == nil || t.Name == "" || sourceBit(t.Source) == 0 {
		return subject{}, false
	}
	s := subject{source: sourceBit(t.Source)}
	s.deny = newView(t, true, buf.canon[:0], buf.id[:0])
	s.allow = s.deny
	if !ascii(t.Owner) || !ascii(t.Name) || !ascii(string(t.ID)) {
		s.allow = newView(t, false, nil, nil)
	}
	s.groups, s.control = v.classify(t, s.allow.name)
	return s, true
}

// newView folds t's identity into the given buffers.
func newView(t *tool.Tool, broad bool, canon, id []byte) view {
	canon = append(append(canon, t.Source...), ':')
	owner := len(canon)
	canon = append(appendFold(canon, t.Owner, broad), ':')
	name := len(canon)
	canon = appendFold(canon, t.Name, broad)
	w := view{
		canon: canon,
		group: canon[:name-1],
		owner: canon[owner : name-1],
		name:  canon[name:],
	}
	if !canonical(t) {
		w.id = appendFold(id, string(t.ID), broad)
	}
	return w
}

// canonical reports whether t's id is source:owner:name, or absent.
func canonical(t *tool.Tool) bool {
	rest, ok := strings.CutPrefix(string(t.ID), string(t.Source))
	if !ok {
		return t.ID == ""
	}
	n := len(t.Owner)
	return len(rest) == n+len(t.Name)+2 && rest[0] == ':' && rest[n+1] == ':' &&
		rest[1:n+1] == t.Owner && rest[n+2:] == t.Name
}

// claimsSource reports whether a folded id begins like a canonical one.
func claimsSource(id []byte) bool {
	for _, s := range [...]tool.Source{tool.OpenClaw, tool.MCP, tool.Client} {
		if n := len(s); len(id) > n && id[n] == ':' && string(id[:n]) == string(s) {
			return true
		}
	}
	return false
}

// classify returns the groups of a tool by its source, owner and name, and
// whether it is a control.
func (v *vocabulary) classify(t *tool.Tool, name []byte) (bits, bool) {
	switch {
	case t.Source == tool.MCP:
		return bitMCP | bitPlugins, false
	case t.Source == tool.Client:
		return bitClient, false
	case t.Owner != tool.CoreOwner:
		return v.members[string(name)] | bitPlugins, false
	case v.isControl(name):
		return bitControls, true
	}
	return v.members[string(name)] | bitOpenClaw, false
}
