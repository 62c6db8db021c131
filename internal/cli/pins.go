package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

func newPins(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "pins",
		Short: "See and accept what MCP servers changed about their tools",
		Long: `The definition of every MCP tool is pinned when it is first seen. One that
changes is blocked until the change is accepted here.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPinsList(app), newPinsDiff(app), newPinsAccept(app), newPinsForget(app))
	return c
}

// pinJSON is a pin as --json prints it.
type pinJSON struct {
	ID       tool.ID `json:"id"`
	Digest   string  `json:"digest"`
	Waiting  bool    `json:"waiting"`
	Offered  string  `json:"offeredDigest,omitempty"`
	Accepted string  `json:"acceptedAt,omitempty"`
}

func newPinsList(app *app) *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the changes that wait; --all lists every pinned tool",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pins, done, err := app.openPins(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			found, err := pins.List(cmd.Context(), "")
			if err != nil {
				return storeError(err)
			}
			shown := []pinJSON{}
			for _, p := range found {
				if all || p.Waiting() {
					shown = append(shown, pinJSON{tool.NewID(tool.MCP, p.Server, p.Tool), p.Digest, p.Waiting(), p.OfferedDigest, acceptedAt(p)})
				}
			}
			if asJSON {
				return app.std.printJSON(shown)
			}
			return printPins(app.std, shown)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&all, "all", false, "list every pinned tool")
	return c
}

func printPins(s *streams, pins []pinJSON) error {
	if len(pins) == 0 {
		fmt.Fprintln(s.err, "no change waits")
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, p := range pins {
		state := "accepted"
		if p.Waiting {
			state = "changed: see 'toolsearch pins diff " + oneLine(string(p.ID), 200) + "'"
		}
		fmt.Fprintf(w, "%s\t%s\n", oneLine(string(p.ID), 200), state)
	}
	return w.Flush()
}

// pinDiffJSON is a waiting change as --json prints it.
type pinDiffJSON struct {
	ID       tool.ID         `json:"id"`
	Offered  string          `json:"offeredDigest"`
	Diff     string          `json:"diff"` // for people: nothing in it is hidden
	Accepted json.RawMessage `json:"accepted,omitempty"`
	Offers   json.RawMessage `json:"offered,omitempty"`
}

func newPinsDiff(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff [ID]",
		Short: "Show what servers changed about a tool, or about all of them, hidden characters too",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pins, done, err := app.openPins(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			waiting, err := waitingPins(cmd.Context(), pins, args)
			if err != nil {
				return err
			}
			if asJSON {
				out := make([]pinDiffJSON, len(waiting))
				for i, p := range waiting {
					out[i] = pinDiffJSON{tool.NewID(tool.MCP, p.Server, p.Tool), p.OfferedDigest, pin.Diff(p.Definition, p.OfferedDefinition), p.Definition, p.OfferedDefinition}
				}
				return app.std.printJSON(out)
			}
			return printPinDiffs(app.std, waiting, len(args) == 1)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as a JSON array")
	return c
}

// waitingPins finds the one change that is named, or all.
func waitingPins(ctx context.Context, pins pin.Store, refs []string) ([]pin.Pin, error) {
	if len(refs) == 1 {
		p, err := waitingPin(ctx, pins, refs[0])
		return []pin.Pin{p}, err
	}
	found, err := pins.List(ctx, "")
	if err != nil {
		return nil, storeError(err)
	}
	var waiting []pin.Pin
	for _, p := range found {
		if !p.Waiting() {
			continue
		}
		full, ok, err := pins.Get(ctx, p.Server, p.Tool) // List may leave the definitions out
		if err != nil {
			return nil, storeError(err)
		}
		if ok && full.Waiting() {
			waiting = append(waiting, full)
		}
	}
	return waiting, nil
}

func printPinDiffs(s *streams, waiting []pin.Pin, named bool) error {
	if len(waiting) == 0 {
		fmt.Fprintln(s.err, "no change waits")
		return nil
	}
	for i, p := range waiting {
		id := oneLine(string(tool.NewID(tool.MCP, p.Server, p.Tool)), 200)
		if !named {
			if i > 0 {
				fmt.Fprintln(s.out)
			}
			fmt.Fprintln(s.out, s.bold(id))
		}
		if _, err := fmt.Fprintln(s.out, pin.Diff(p.Definition, p.OfferedDefinition)); err != nil {
			return err
		}
		fmt.Fprintf(s.err, "to accept exactly this: toolsearch pins accept %s --digest %s\n", id, p.OfferedDigest)
	}
	return nil
}

func newPinsAccept(app *app) *cobra.Command {
	var digest string
	c := &cobra.Command{
		Use:   "accept ID",
		Short: "Accept a changed definition; look at the diff first",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := byAPerson("accept " + tool.Clean(args[0], 300)); err != nil {
				return err
			}
			pins, p, done, err := app.openWaitingPin(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer done()
			id := oneLine(string(tool.NewID(tool.MCP, p.Server, p.Tool)), 200)
			if digest == "" { // what is accepted must have been seen
				fmt.Fprintln(app.std.err, pin.Diff(p.Definition, p.OfferedDefinition))
				digest = p.OfferedDigest
			}
			if digest != p.OfferedDigest {
				return hintError{
					fmt.Errorf("accept %s: no such change is waiting: the one that waits has the digest %s, not %s", id, p.OfferedDigest, oneLine(digest, 100)),
					fmt.Sprintf("look at it with 'toolsearch pins diff %s'", id),
				}
			}
			pinner, err := pin.New(pin.Config{Store: pins})
			if err != nil {
				return err
			}
			if err := pinner.Accept(cmd.Context(), p.Server, p.Tool, digest); err != nil {
				return err
			}
			fmt.Fprintf(app.std.err, "accepted %s\n", id)
			return nil
		},
	}
	c.Flags().StringVar(&digest, "digest", "", "accept only the definition with this digest, as 'pins list --json' prints it")
	return c
}

func newPinsForget(app *app) *cobra.Command {
	var server string
	c := &cobra.Command{
		Use:   "forget {ID | --server NAME}",
		Short: "Forget what a tool was, or every tool of a server",
		Long: `What is forgotten is pinned anew at its next sight, whatever it is then. That is
for a server that was replaced, or has gone: a change is better looked at with
'toolsearch pins diff' and accepted.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (server != "") {
				return usagef("name a tool by its id, or a server with --server")
			}
			name := ""
			if server == "" {
				var ok bool
				if server, name, ok = mcpTool(args[0]); !ok {
					return usagef("%q is no id of an MCP tool, such as mcp:github:create_issue; see 'toolsearch pins list --all'", tool.Clean(args[0], 200))
				}
			}
			if err := byAPerson("forget the pins of " + tool.Clean(server, 100)); err != nil {
				return err
			}
			s, done, err := app.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			// What is known of a server that is not connected would be pinned first.
			if err := mcp.ForgetLists(cacheDir(), server); err != nil {
				return err
			}
			n, err := s.Pins().Remove(cmd.Context(), server, name)
			switch {
			case err != nil:
				return storeError(err)
			case n == 0:
				return hintError{fmt.Errorf("nothing is pinned of that"), "'toolsearch pins list --all' names what is"}
			}
			fmt.Fprintf(app.std.err, "%d forgotten\n", n)
			return nil
		},
	}
	c.Flags().StringVar(&server, "server", "", "every tool of the server with this `name`")
	return c
}

// mcpTool reads the id of an MCP tool. A server's name has no colon.
func mcpTool(id string) (server, name string, ok bool) {
	rest, ok := strings.CutPrefix(id, string(tool.MCP)+":")
	if !ok {
		return "", "", false
	}
	server, name, ok = strings.Cut(rest, ":")
	return server, name, ok && server != "" && name != ""
}

func (a *app) openPins(ctx context.Context) (pin.Store, func(), error) {
	s, done, err := a.openStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s.Pins(), done, nil
}

// toolRenamed tells the user of a tool that came back under another name: rules
// and habits may hang on the old one.
func (a *app) toolRenamed(r pin.Rename) {
	fmt.Fprintf(a.std.err, "warning: server %q now calls its tool %s %s; nothing else of it has changed\n",
		oneLine(r.Server, 100), oneLine(r.From, 200), oneLine(r.To, 200))
}

// openWaitingPin opens the pins and finds the waiting change that ref means.
func (a *app) openWaitingPin(ctx context.Context, ref string) (pin.Store, pin.Pin, func(), error) {
	pins, done, err := a.openPins(ctx)
	if err != nil {
		return nil, pin.Pin{}, nil, err
	}
	p, err := waitingPin(ctx, pins, ref)
	if err != nil {
		done()
		return nil, pin.Pin{}, nil, err
	}
	return pins, p, done, nil
}

// waitingPin finds the waiting change of a tool, by its id or its name.
func waitingPin(ctx context.Context, pins pin.Store, ref string) (pin.Pin, error) {
	found, err := pins.List(ctx, "")
	if err != nil {
		return pin.Pin{}, storeError(err)
	}
	_, _, isID := mcpTool(ref) // which a tool's name may imitate
	var fits []pin.Pin
	for _, p := range found {
		if p.Waiting() && (string(tool.NewID(tool.MCP, p.Server, p.Tool)) == ref || !isID && p.Tool == ref) {
			fits = append(fits, p)
		}
	}
	if len(fits) != 1 {
		return pin.Pin{}, hintError{fmt.Errorf("pins: %d waiting changes fit %q", len(fits), tool.Clean(ref, 200)), "'toolsearch pins list' names them by id"}
	}
	p, ok, err := pins.Get(ctx, fits[0].Server, fits[0].Tool) // List may leave the definitions out
	if err != nil {
		return pin.Pin{}, storeError(err)
	}
	if !ok {
		return pin.Pin{}, fmt.Errorf("pins: the pin of %q is gone", tool.Clean(ref, 200))
	}
	return p, nil
}

// acceptedAt is the time of the acceptance in RFC 3339, "" for none.
func acceptedAt(p pin.Pin) string {
	if p.AcceptedAt.IsZero() {
		return ""
	}
	return p.AcceptedAt.UTC().Format(time.RFC3339)
}
