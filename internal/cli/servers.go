package cli

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/source/mcp"
)

func newServers(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "servers",
		Short: "Show the MCP servers: state, tools, last error",
		Long:  "Servers starts every configured server, waits for each, and tells how it went.\nThe exit code is 4 when one is not available.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := app.open(cmd.Context(), openOptions{})
			if err != nil {
				return err
			}
			defer set.close()
			if err := set.Wait(cmd.Context()); err != nil {
				return err
			}
			status := statusOnce(set)
			if asJSON {
				if status == nil {
					status = []mcp.Status{}
				}
				if err := app.std.printJSON(status); err != nil {
					return err
				}
			} else if err := printServers(app.std, status); err != nil {
				return err
			}
			for _, st := range status {
				if st.State == mcp.Failed {
					return silentError{ExitUnavailable}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func printServers(s *streams, status []mcp.Status) error {
	if len(status) == 0 {
		fmt.Fprintln(s.err, "no server is configured: add one under mcp.servers")
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tSTATE\tTOOLS\tPROTOCOL\tNOTE")
	for _, st := range status {
		note := st.LastError
		if note == "" && st.ServerName != "" {
			note = st.ServerName + " " + st.ServerVersion
		}
		state := string(st.State)
		if st.Stale {
			state += " (stale)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", oneLine(st.Name, 64), state, st.Tools, oneLine(st.Protocol, 20), oneLine(note, 300))
	}
	return w.Flush()
}

// statusOnce is what a verb that looks once tells of the servers: one that has
// failed and is being started again has failed.
func statusOnce(set *toolset) []mcp.Status {
	status := slices.Clone(set.Status())
	for i := range status {
		if st := &status[i]; st.State == mcp.Starting && st.LastError != "" {
			st.State = mcp.Failed
		}
	}
	return status
}
