package policy_test

import (
	"path"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// naive is the straightforward way to apply the same rules: for each tool, each
// layer and each entry, lower both, expand groups, and ask path.Match. It knows
// names, globs on names, group:fs, bundle-mcp and mcp:server, and is both the
// oracle of a test and the alternative of the benchmarks.
type naive []policy.Layer

func (n naive) allows(t *tool.Tool) bool {
	for _, l := range n {
		if slices.ContainsFunc(l.Rules.Deny, func(e policy.Entry) bool { return naiveMatch(e.Pattern, t) }) {
			return false
		}
		if len(l.Rules.Allow) > 0 &&
			!slices.ContainsFunc(l.Rules.Allow, func(e policy.Entry) bool { return naiveMatch(e.Pattern, t) }) {
			return false
		}
	}
	return true
}

func naiveMatch(pattern string, t *tool.Tool) bool {
	pattern = strings.ToLower(strings.TrimSpace(pattern))
	switch {
	case pattern == "group:fs":
		for _, member := range []string{"read", "write", "edit", "apply_patch", "list", "grep"} {
			if t.Source == tool.OpenClaw && strings.ToLower(t.Name) == member {
				return true
			}
		}
		return false
	case pattern == "bundle-mcp":
		return t.Source == tool.MCP
	case strings.HasPrefix(pattern, "mcp:"):
		return t.Source == tool.MCP && strings.ToLower(t.Owner) == pattern[len("mcp:"):]
	}
	// path.Match stops at '/', which no name here has.
	ok, err := path.Match(pattern, strings.ToLower(t.Name))
	return err == nil && ok
}
