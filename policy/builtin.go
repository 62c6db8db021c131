package policy

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed builtin.txt
var builtinText string

// bits is a set of groups. Groups that are lists take the low bits, in the
// order of builtin.txt; groups that follow from source and owner the high ones.
type bits uint64

const (
	bitOpenClaw bits = 1 << (63 - iota) // every built-in tool
	bitPlugins                          // every plugin's tools, and MCP tools
	bitMCP
	bitClient
	bitControls
)

// allBits is what '*' stands for.
const allBits = ^bits(0)

// vocabulary is builtin.txt, parsed. It is never changed after that.
type vocabulary struct {
	groups   map[string]bits     // group's name → its bit
	members  map[string]bits     // built-in tool's name or alias → its groups
	same     map[string][]string // name or alias → all names of the same tool
	controls []string
	profiles map[string][]string // profile's name → entries
}

// builtin parses builtin.txt once, when the first policy is compiled.
var builtin = sync.OnceValue(func() *vocabulary { return parseVocabulary(builtinText) })

// parseVocabulary reads the format of builtin.txt. Lines of an unknown kind are
// left to the test of that file.
func parseVocabulary(text string) *vocabulary {
	v := &vocabulary{
		groups: map[string]bits{
			"openclaw": bitOpenClaw, "plugins": bitPlugins, "mcp": bitMCP,
			"client": bitClient, "controls": bitControls,
		},
		members:  map[string]bits{},
		same:     map[string][]string{},
		profiles: map[string][]string{},
	}
	next := bits(1)
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		name, rest := words[1], words[2:]
		switch words[0] {
		case "group":
			if v.groups[name] == 0 {
				v.groups[name] = next
				next <<= 1
			}
			for _, member := range rest {
				v.members[member] |= v.groups[name] | bitOpenClaw
			}
		case "alias":
			all := append([]string{name}, rest...)
			for _, n := range all {
				v.same[n] = all
				v.members[n] |= v.members[name]
			}
		case "control":
			v.controls = append(v.controls, words[1:]...)
		case "profile":
			v.profiles[name] = append(v.profiles[name], rest...)
		}
	}
	return v
}

// Profiles returns the names of the profiles, sorted.
func Profiles() []string {
	var names []string
	for name := range builtin().profiles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Controls returns the names of the controls.
func Controls() []string { return slices.Clone(builtin().controls) }

// SameTool reports whether two names are the same or aliases of one built-in
// tool, such as exec and bash. Case does not matter.
func SameTool(a, b string) bool {
	a, b = fold(a, false), fold(b, false)
	return a == b || slices.Contains(builtin().same[a], b)
}

// isControl reports whether a folded name is a control's.
func (v *vocabulary) isControl(name []byte) bool {
	for _, c := range v.controls {
		if string(name) == c {
			return true
		}
	}
	return false
}

// groupNames returns the groups as an entry writes them, sorted.
func (v *vocabulary) groupNames() []string {
	names := make([]string, 0, len(v.groups))
	for name := range v.groups {
		names = append(names, "group:"+name)
	}
	slices.Sort(names)
	return names
}
