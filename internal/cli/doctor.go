package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/tool"
)

// check is one thing that doctor looked at.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	Stderr string `json:"stderr,omitempty"` // what a server's process printed last

	server bool // it is about a source or a model API: nothing of the setup need be wrong
}

func newDoctor(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the setup, and say what to do",
		Long: `Doctor looks at the configuration, the caches, the store with the transcript,
the hooks and plugins, the keys of model APIs and of callers, the MCP servers and
what they changed about their tools, code mode's isolation and what a model would
see.

The exit code is 0 when all is well, 4 when nothing is wrong but a server or a
model API that cannot be used, and else 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := diagnose(cmd.Context(), app)
			if asJSON {
				if err := app.std.printJSON(checks); err != nil {
					return err
				}
			} else {
				printChecks(app.std, checks)
			}
			return verdict(checks)
		},
	}
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// verdict is the exit code that sums the checks up, nil when all is well.
func verdict(checks []check) error {
	code := ExitOK
	for _, c := range checks {
		switch {
		case c.OK:
		case c.server && code == ExitOK:
			code = ExitUnavailable
		case !c.server:
			code = ExitFailed
		}
	}
	if code == ExitOK {
		return nil
	}
	return silentError{code}
}

func diagnose(ctx context.Context, app *app) []check {
	b := readBuildInfo()
	checks := []check{{Name: "program", OK: true, Detail: fmt.Sprintf("toolsearch %s, %s, %s", b.Version, b.Go, b.Platform)}}
	cfg, found := checkConfig(ctx, app)
	kept := checkStore(ctx, app)
	checks = append(checks, found, checkCache(), kept)
	checks = append(checks, checkPlugins(ctx, app)...)
	if cfg == nil {
		return checks // nothing else can be opened
	}
	checks = append(append(append(checks, checkHooks(cfg.Tools.Hooks)...), checkModels(cfg.Models)...), checkServe(cfg.Serve)...)
	set, err := app.open(ctx, openOptions{core: true, held: kept.OK})
	if err != nil {
		return append(checks, check{Name: "tools", Detail: err.Error(), Hint: "mend the configuration as the message says"})
	}
	defer set.close()
	if err = set.Wait(ctx); err == nil {
		err = app.warnOfUnknown(set)
	}
	if err != nil {
		return append(checks, check{Name: "servers", Detail: err.Error()})
	}
	for _, st := range statusOnce(set) {
		server, _ := set.cfg.Server(st.Name) // each comes from there
		checks = append(checks, checkServer(st, server))
	}
	checks = append(checks, checkCodeMode(ctx, app, set)...)
	return append(append(checks, checkPins(ctx, set)...), checkPlan(set))
}

// checkCodeMode starts an isolated runtime and lists how it is confined.
func checkCodeMode(ctx context.Context, app *app, set *toolset) []check {
	needed := set.search.Enabled && set.search.Mode == config.ModeCode
	runner, err := code.New(ctx, app.codeOptions(set.search))
	if err != nil {
		return []check{{Name: "code mode", OK: !needed, Detail: err.Error(), Hint: "mode \"tools\" is used instead"}}
	}
	defer runner.Close()
	checks := []check{{Name: "code mode", OK: true, Detail: "runs " + runner.Engine()}}
	for _, l := range runner.Layers() {
		state := "on"
		if !l.On {
			state = "missing"
		}
		if l.Why != "" {
			state += ": " + l.Why
		}
		checks = append(checks, check{Name: "code mode layer " + l.Name, OK: true, Detail: state})
	}
	return checks
}

// checkConfig also returns the configuration, nil when it cannot be used.
func checkConfig(ctx context.Context, app *app) (*config.Config, check) {
	c := check{Name: "configuration"}
	at, err := config.Find(config.FindOptions{Explicit: app.configPath})
	var cfg *config.Config
	if err == nil {
		cfg, err = config.Load(ctx, at.LoadPath())
	}
	switch {
	case err != nil:
		c.Detail, c.Hint = err.Error(), "mend the file, then run '"+app.command("config validate")+"'"
		if errors.Is(err, os.ErrNotExist) {
			c.Hint = "create it as the message says, or name another file"
		}
	case !at.Exists:
		c.OK, c.Detail = true, "no file; defaults apply"
		c.Hint = "start with examples/toolsearch.json5, or '" + app.command("config set KEY VALUE") + "'"
	default:
		c.OK, c.Detail = true, at.Path
	}
	return cfg, c
}

// checkCache tries what a start does: it keeps the last known tools there.
func checkCache() check {
	c := check{Name: "cache", Detail: cacheDir()}
	if c.Detail == "" {
		c.Detail, c.Hint = "no user cache folder", "set XDG_CACHE_HOME or HOME, or every start waits for every server"
		return c
	}
	if err := os.MkdirAll(c.Detail, 0o700); err != nil {
		c.Detail, c.Hint = err.Error(), "make the folder writable, or every start waits for every server"
		return c
	}
	c.OK = true
	return c
}

// checkStore reads the whole database for damage, and applies what ended
// processes left.
func checkStore(ctx context.Context, app *app) check {
	c := check{Name: "store"}
	failed := func(err error) check {
		err = storeError(err)
		c.Detail, c.Hint = err.Error(), "no call is made without the store"
		if hint := (hintError{}); errors.As(err, &hint) {
			c.Hint = hint.hint + "; no call is made without the store"
		}
		return c
	}
	s, done, err := app.openStore(ctx)
	if err != nil {
		return failed(err)
	}
	defer done()
	if err := s.Check(ctx); err != nil {
		return failed(err)
	}
	st, err := s.State(ctx)
	if err != nil {
		return failed(err)
	}
	c.OK = true
	c.Detail = fmt.Sprintf("%s: schema %d, %d bytes, no damage; %d journals of running processes, %d bytes", s.Path(), st.Schema, st.Bytes, st.Journals, st.JournalBytes)
	if n := len(st.Damaged); n > 0 {
		c.OK = false
		c.Detail += fmt.Sprintf("; %d damaged journals, the first %s", n, st.Damaged[0])
		c.Hint = "records of a process that ended could not be read back; delete the file when it is of no use"
	}
	return c
}

func checkPlan(set *toolset) check {
	rep, err := makePlanReport(set, 0)
	if err != nil {
		return check{Name: "plan", Detail: err.Error()}
	}
	detail := fmt.Sprintf("mode %s: %d visible tools, %d behind search, %d warnings", rep.Mode, len(rep.Visible), rep.Catalog, len(rep.Warnings))
	if rep.Auto != nil {
		detail += "; chosen by auto, since " + rep.Auto.Reason
	}
	if rep.Listing != nil {
		detail += fmt.Sprintf("; %d of them listed in %d characters", rep.Listing.Listed, rep.Listing.Characters)
	}
	return check{Name: "plan", OK: true, Detail: detail}
}

func printChecks(s *streams, checks []check) {
	for _, c := range checks {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(s.out, "%s  %s:", s.bold(mark), oneLine(c.Name, 100))
		if before, several, _ := strings.Cut(c.Detail, "\n"); several == "" {
			fmt.Fprintf(s.out, " %s\n", oneLine(before, 1000))
		} else {
			fmt.Fprintln(s.out)
			printIndented(s, "      ", c.Detail)
		}
		printIndented(s, "      stderr: ", c.Stderr)
		if c.Hint != "" {
			fmt.Fprintf(s.out, "      hint: %s\n", oneLine(c.Hint, 300))
		}
	}
}

// printIndented prints each line of text behind indent, and nothing for "".
func printIndented(s *streams, indent, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(s.out, "%s%s\n", indent, tool.Clean(line, 1000))
	}
}
