package config

import (
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// chapter is one section of the reference.
type chapter struct {
	path, intro string
	rows        []row
}

func (sec *section[T]) chapter() chapter {
	c := chapter{path: sec.path, intro: sec.intro}
	for _, f := range sec.fields {
		c.rows = append(c.rows, f.row)
	}
	return c
}

// chapters are the tables that files are read by, in the reference's order.
func chapters() []chapter {
	root, tools, search, directory, mcp, server, agents, agent := rootSection(), toolsSection(), searchSection(), directorySection(), mcpSection(), serverSection(), agentsSection(), agentSection()
	rules := rulesSection("tools.byProvider.<name>", "Rules, as they stand also in `tools.toolsByGroup.<name>`, `tools.toolsBySender.<name>`, `tools.sandbox.tools` and `tools.subagents.tools`. Every scope can only remove tools.")
	approvals, approvalRule, hooks, output, kept := approvalsSection(), approvalRuleSection(), hookSection(), outputSection(), transcriptSection()
	models, api, model, serve, key, held, limits, watch := modelsSection(), providerSection(), modelSection(), serveSection(), serveKeySection(), heldSection(), runLimitsSection(), telemetrySection()
	return []chapter{root.chapter(), tools.chapter(), search.chapter(), directory.chapter(), rules.chapter(), approvals.chapter(), approvalRule.chapter(), hooks.chapter(), output.chapter(), kept.chapter(), mcp.chapter(), server.chapter(), agents.chapter(), agent.chapter(),
		models.chapter(), api.chapter(), model.chapter(), serve.chapter(), key.chapter(), held.chapter(), limits.chapter(), watch.chapter()}
}

const referenceHead = `# Configuration

<!-- Generated from the field tables in internal/config; update with: go test ./internal/config -run TestReference -update -->

One [JSON5](https://json5.org) file: JSON with comments, trailing commas and keys without quotes. It is looked for in this order, and the
first one that is given or exists is used alone:

1. ` + "`--config FILE`" + `
2. ` + "`$TOOLSEARCH_CONFIG`" + `
3. ` + "`./toolsearch.json5`" + `
4. ` + "`toolsearch/toolsearch.json5`" + ` in the user's config folder (` + "`toolsearch config path`" + ` prints it)

Without a file everything has its default. An ` + "`openclaw.json`" + ` with the sections ` + "`tools`, `mcp` and `agents`" + ` is read as it is; what it has beyond them
is ignored with one warning. A wrong type, an unknown value or key is an error that names file, line, column and key, and all errors of
a file are reported together. A number out of bounds is clamped, with a warning.

` + "```json5" + `
{
  tools: {
    toolSearch: { mode: "tools" }, // or true, for code mode
    deny: ["exec", "mcp:github"],
  },
  mcp: {
    servers: {
      github: { command: "github-mcp-server", args: ["stdio"], env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } },
      docs: { url: "https://docs.example.com/mcp", headers: { Authorization: "Bearer ${DOCS_TOKEN:-}" } },
    },
  },
}
` + "```" + `

` + "`toolsearch config set KEY VALUE`" + ` changes one value and keeps comments and formatting; ` + "`get`, `unset`, `validate` and `path`" + ` do what they
say. A key is written like ` + "`mcp.servers.github.args[0]`" + `, and with quotes where a name has dots: ` + "`mcp.servers[\"a.b\"].url`" + `.
`

// Reference returns the configuration reference in Markdown, made from the
// tables by which files are read.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, c := range chapters() {
		title := "`" + c.path + "`"
		if c.path == "" {
			title = "Sections"
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if c.intro != "" {
			b.WriteString(c.intro + "\n\n")
		}
		b.WriteString("| key | type | default | bounds | meaning |\n|---|---|---|---|---|\n")
		for _, r := range c.rows {
			key := r.Key
			if r.Shown != "" {
				key = r.Shown
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", key, r.Type, r.Default, r.Bounds, r.Doc)
		}
	}
	return b.String()
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
