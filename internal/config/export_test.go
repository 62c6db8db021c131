package config

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed testdata/reference.md
var referenceHead string

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
