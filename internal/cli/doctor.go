package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/source/mcp"
)

// check is one thing that doctor looked at.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func newDoctor(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the setup, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := diagnose(cmd.Context(), app)
			if asJSON {
				if err := app.std.printJSON(checks); err != nil {
					return err
				}
			} else {
				printChecks(app.std, checks)
			}
			for _, c := range checks {
				if !c.OK {
					return silentError{ExitFailed}
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func diagnose(ctx context.Context, app *app) []check {
	b := readBuildInfo()
	checks := []check{{Name: "program", OK: true, Detail: fmt.Sprintf("toolsearch %s, %s, %s", b.Version, b.Go, b.Platform)}}
	checks = append(checks, checkConfig(ctx, app), checkCache())
	if !checks[1].OK {
		return checks // nothing else can be opened
	}
	set, err := app.open(ctx, openOptions{core: true})
	if err != nil {
		return append(checks, check{Name: "tools", Detail: err.Error(), Hint: "mend the configuration as the message says"})
	}
	defer set.close()
	if err := set.Wait(ctx); err != nil {
		return append(checks, check{Name: "servers", Detail: err.Error()})
	}
	for _, st := range set.Status() {
		checks = append(checks, checkServer(st))
	}
	checks = append(checks, checkCodeMode(ctx, app, set)...)
	return append(checks, checkPlan(set))
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

func checkConfig(ctx context.Context, app *app) check {
	c := check{Name: "configuration"}
	at, err := config.Find(config.FindOptions{Explicit: app.configPath})
	if err == nil {
		_, err = config.Load(ctx, at.LoadPath())
	}
	switch {
	case err != nil:
		c.Detail, c.Hint = err.Error(), "mend the file, then run 'toolsearch config validate'"
	case !at.Exists:
		c.OK, c.Detail = true, "no file; defaults apply"
		c.Hint = "start with examples/toolsearch.json5, or 'toolsearch config set'"
	default:
		c.OK, c.Detail = true, at.Path
	}
	return c
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

func checkServer(st mcp.Status) check {
	c := check{Name: "server " + st.Name, OK: st.State == mcp.Ready || st.State == mcp.Disabled}
	switch st.State {
	case mcp.Ready:
		c.Detail = fmt.Sprintf("%d tools, protocol %s, up since %s", st.Tools, st.Protocol, st.Since.Format(time.TimeOnly))
	case mcp.Disabled:
		c.Detail = "disabled in the configuration"
	default:
		c.Detail, c.Hint = fmt.Sprintf("%s: %s", st.State, st.LastError), "run its command by hand, and check its path and variables"
	}
	return c
}

func checkPlan(set *toolset) check {
	rep, err := makePlanReport(set)
	if err != nil {
		return check{Name: "plan", Detail: err.Error()}
	}
	return check{Name: "plan", OK: true, Detail: fmt.Sprintf(
		"mode %s: %d visible tools, %d behind search, %d warnings", rep.Mode, len(rep.Visible), rep.Catalog, len(rep.Warnings))}
}

func printChecks(s *streams, checks []check) {
	for _, c := range checks {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(s.out, "%s  %s: %s\n", s.bold(mark), oneLine(c.Name, 100), oneLine(c.Detail, 1000))
		if c.Hint != "" {
			fmt.Fprintf(s.out, "      hint: %s\n", oneLine(c.Hint, 300))
		}
	}
}
