package config

import (
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// chapter is one section of the reference.
type chapter struct {
	path, intro string
	rows        []row
}

func (sec section[T]) chapter() chapter {
	c := chapter{path: sec.path, intro: sec.intro}
	for _, f := range sec.fields {
		c.rows = append(c.rows, f.row)
	}
	return c
}

// chapters are the tables that files are read by, in the reference's order.
func chapters() []chapter {
	var out []chapter
	for _, sec := range []interface{ chapter() chapter }{
		rootSection(), toolsSection(), searchSection(), directorySection(),
		rulesSection("tools.byProvider.<name>", "Rules, as they stand also in `tools.toolsByGroup.<name>`, `tools.toolsBySender.<name>`, `tools.sandbox.tools` and `tools.subagents.tools`. Every scope can only remove tools."),
		approvalsSection(), approvalRuleSection(), hookSection(), outputSection(), transcriptSection(),
		mcpSection(), serverSection(), agentsSection(), agentSection(),
		modelsSection(), providerSection(), modelSection(),
		serveSection(), serveKeySection(), heldSection(), runLimitsSection(), telemetrySection(),
	} {
		out = append(out, sec.chapter())
	}
	return out
}

// defaultOf returns what the reference says of a path's default.
func defaultOf(path json5.Path) string {
	if len(path) == 0 {
		return ""
	}
	for _, c := range chapters() {
		if !matches(c.path, path[:len(path)-1]) {
			continue
		}
		for _, r := range c.rows {
			if r.Key == path[len(path)-1].Key {
				return strings.Trim(r.Default, "`")
			}
		}
	}
	return ""
}

// matches reports whether a path is an instance of a chapter's, in which
// <name> and [] stand for any step.
func matches(pattern string, path json5.Path) bool {
	parts := strings.FieldsFunc(strings.ReplaceAll(pattern, "[]", ".<>"), func(r rune) bool { return r == '.' })
	if len(parts) != len(path) {
		return false
	}
	for i, p := range parts {
		if p != path[i].Key && p[0] != '<' {
			return false
		}
	}
	return true
}
