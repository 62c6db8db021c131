package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// waitFor waits for the servers that ref needs, "" for all, and says so when it
// takes a while.
func (a *app) waitFor(ctx context.Context, set *toolset, ref string) error {
	notice := time.AfterFunc(time.Second, func() {
		if names := set.Awaits(ref); len(names) > 0 {
			fmt.Fprintf(a.std.err, "waiting for MCP servers: %s…\n", oneLine(strings.Join(names, ", "), 500))
		}
	})
	defer notice.Stop()
	if err := set.WaitFor(ctx, ref); err != nil {
		return err
	}
	concerned := concerns(ctx, set, ref)
	for _, st := range statusOnce(set) {
		if st.State == mcp.Failed && concerned(st.Name) {
			fmt.Fprintf(a.std.err, "warning: server %q is not available: %s\n", st.Name, st.LastError)
		}
	}
	if len(set.Awaits("")) > 0 {
		return nil // which names are unknown is not known yet
	}
	return a.warnOfUnknown(set)
}

// concerns tells of which servers' failures to tell whoever asks for ref: that of
// a tool that was found or named by its id, and else all.
func concerns(ctx context.Context, set *toolset, ref string) func(server string) bool {
	t, err := set.Resolve(ctx, ref)
	source, rest, _ := strings.Cut(ref, ":")
	owner, _, isID := strings.Cut(rest, ":")
	return func(server string) bool {
		switch {
		case ref == "":
			return true
		case err == nil:
			return t.Source == tool.MCP && t.Owner == server
		case isID && tool.Source(source).Valid():
			return owner == server
		}
		return true
	}
}
