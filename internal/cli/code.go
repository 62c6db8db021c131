package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// maxBodyFile bounds, in bytes, a body read from a file or stdin; the code
// limit of the configuration is below it.
const maxBodyFile = 4 << 20

func newCode(app *app) *cobra.Command {
	var opt struct {
		body string
		json bool
	}
	c := &cobra.Command{
		Use:   "code [-e BODY | FILE | -]",
		Short: "Run a code mode body against the configured tools",
		Long: `Code runs a JavaScript body in an isolated process, as tool_search_code does for
a model, and prints what it returned. The exit code is 1 when it threw.`,
		Example: `  toolsearch code -e 'return (await openclaw.tools.search("read a file")).map(h => h.id)'
  toolsearch code body.js`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := readBody(app.std.in, opt.body, cmd.Flags().Changed("eval"), args)
			if err != nil {
				return err
			}
			set, err := app.open(cmd.Context(), openOptions{calls: true, core: true, wait: true, mode: surface.Code})
			if err != nil {
				return err
			}
			defer set.close()
			if set.CodeLayers() == nil {
				return hintError{&tool.Error{Code: tool.CodeUnavailable, Reason: "code mode cannot run here: " + strings.Join(set.Warnings(), "; ")},
					"'toolsearch doctor' shows which layers of confinement are missing"}
			}
			return app.runBody(cmd.Context(), set, body, opt.json)
		},
	}
	c.Flags().StringVarP(&opt.body, "eval", "e", "", "the body itself")
	c.Flags().BoolVar(&opt.json, "json", false, "print value, logs and telemetry as JSON")
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	return c
}

func readBody(stdin io.Reader, flag string, flagSet bool, args []string) (string, error) {
	switch {
	case flagSet && len(args) > 0:
		return "", usagef("code: give either -e BODY or a file, not both")
	case flagSet:
		return flag, nil
	case len(args) == 0:
		return "", hintError{usagef("code: no body is given"), "pass -e 'BODY', a file, or - for stdin"}
	}
	in := stdin
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			err = fmt.Errorf("code: read the body: %w", err)
			if strings.ContainsAny(args[0], " \n;(){}") { // more like code than like a file's name
				err = hintError{err, "pass the body itself with -e 'BODY'"}
			}
			return "", err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxBodyFile+1))
	if err != nil {
		return "", fmt.Errorf("code: read the body: %w", err)
	}
	if len(raw) > maxBodyFile {
		return "", fmt.Errorf("code: the body has more than %d bytes", maxBodyFile)
	}
	return string(raw), nil
}

func (a *app) runBody(ctx context.Context, set *toolset, body string, asJSON bool) error {
	answer, content, err := set.RunCode(ctx, body)
	if err != nil {
		return err
	}
	s := a.std
	if asJSON {
		out := struct {
			*surface.CodeAnswer
			Content []tool.Content `json:"content,omitempty"`
		}{answer, content}
		if err := s.printJSON(out); err != nil {
			return err
		}
	} else {
		printAnswer(s, answer, content)
	}
	if !answer.OK {
		return silentError{ExitFailed}
	}
	return nil
}

func printAnswer(s *streams, a *surface.CodeAnswer, content []tool.Content) {
	for _, line := range a.Logs {
		fmt.Fprintln(s.err, cleanBlock(line))
	}
	for _, c := range a.Cut {
		fmt.Fprintf(s.err, "note: %s\n", c)
	}
	if a.OK {
		value := []byte(a.Value)
		if indented, err := json.MarshalIndent(a.Value, "", "  "); err == nil {
			value = indented
		}
		fmt.Fprintf(s.out, "%s\n", value)
		for _, c := range content {
			printContent(s, c)
		}
	} else {
		printGuestError(s, a)
	}
	t := a.Telemetry
	fmt.Fprintf(s.err, "%s\n", s.dim(fmt.Sprintf("catalog %d tools; %d searches, %d describes, %d calls",
		t.CatalogSize, t.SearchCount, t.DescribeCount, t.CallCount)))
}

func printGuestError(s *streams, a *surface.CodeAnswer) {
	e := a.Error
	if e == nil {
		return
	}
	fmt.Fprintf(s.err, "toolsearch: %s: %s", oneLine(e.Name, 80), cleanBlock(e.Message))
	if e.Line > 0 {
		fmt.Fprintf(s.err, " (line %d, column %d)\n    %s", e.Line, e.Column, oneLine(e.Snippet, 200))
	}
	fmt.Fprintln(s.err)
	if e.Hint != "" {
		fmt.Fprintf(s.err, "hint: %s\n", oneLine(e.Hint, 500))
	}
	for _, c := range a.Calls {
		if c.Outcome == code.Failed {
			fmt.Fprintf(s.err, "call of %s: %s\n", oneLine(c.ID, 200), oneLine(c.Error, 300))
			continue
		}
		fmt.Fprintf(s.err, "already called %s: %s\n", oneLine(c.ID, 200), c.Outcome)
	}
}

// codeOptions are the configuration's settings of the isolated runtime.
func (a *app) codeOptions(ts config.ToolSearch) code.Options {
	return code.Options{
		Runtime: string(ts.Runtime),
		Limits: code.Limits{
			Timeout:     ts.CodeTimeout,
			CodeBytes:   ts.Code.CodeBytes,
			LogBytes:    ts.Code.LogBytes,
			ResultBytes: ts.Code.ResultBytes,
			MemoryBytes: int64(ts.Code.MemoryBytes),
			InFlight:    ts.Code.InFlight,
			Calls:       ts.Code.Calls,
		},
		MaxChildren: ts.Code.Children,
		Executable:  a.codeExecutable,
		Logger:      a.logger(),
	}
}
