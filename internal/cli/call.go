package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// maxArgsFile bounds, in bytes, arguments read from a file or stdin.
const maxArgsFile = 16 << 20

func newCall(app *app) *cobra.Command {
	var opt struct {
		args string
		json bool
	}
	c := &cobra.Command{
		Use:   "call ID",
		Short: "Run one tool",
		Example: `  toolsearch call mcp:files:read_file --args '{"path": "README.md"}'
  echo '{"path": "."}' | toolsearch call list --args -`,
		Args:              callArgs,
		ValidArgsFunction: completeFirst(app.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := readArgs(app.std.in, opt.args)
			if err != nil {
				return err
			}
			if app.catalogFile != "" {
				return callCatalogFile(cmd, app, args[0], arguments)
			}
			set, err := app.open(cmd.Context(), openOptions{calls: true, core: true, wait: true, ref: args[0]})
			if err != nil {
				return err
			}
			defer set.close()
			target, err := set.Resolve(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			res, err := set.Call(cmd.Context(), string(target.ID), arguments)
			if err != nil {
				return err
			}
			if refusal := refusalOf(target, res); refusal != nil && !opt.json {
				return refusal
			}
			return printResult(app.std, target, res, opt.json)
		},
	}
	app.catalogFlags(c)
	c.Flags().StringVar(&opt.args, "args", "{}", "the tool's arguments: JSON, @FILE, or - for stdin")
	c.Flags().BoolVar(&opt.json, "json", false, "print the {tool, result} envelope")
	return c
}

// callArgs wants one id. Arguments behind it are a likely slip.
func callArgs(c *cobra.Command, args []string) error {
	if len(args) == 2 && strings.HasPrefix(strings.TrimSpace(args[1]), "{") {
		given := args[1]
		if len(given) > 200 || strings.ContainsAny(given, "'\n") { // not to be shown in quotes
			given = "{…}"
		}
		return hintError{wrongArgs(c, len(args)), fmt.Sprintf("pass the arguments with --args: toolsearch call %s --args '%s'", oneLine(args[0], 200), oneLine(given, 200))}
	}
	if len(args) > 1 {
		return hintError{wrongArgs(c, len(args)), fmt.Sprintf(`pass the arguments as one JSON object: toolsearch call %s --args '{"NAME": VALUE}'; 'toolsearch describe %[1]s' shows their names`, oneLine(args[0], 200))}
	}
	return cobra.ExactArgs(1)(c, args)
}

// callCatalogFile sends the call through the pipeline all the same: it answers
// that there is no server.
func callCatalogFile(cmd *cobra.Command, app *app, ref string, args json.RawMessage) error {
	cat, done, err := app.catalog(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	target, err := cat.Resolve(ref)
	if err != nil {
		return err
	}
	_, err = call.New().Call(cmd.Context(), call.Request{Target: target, Args: args})
	return err
}

func readArgs(stdin io.Reader, value string) (json.RawMessage, error) {
	raw := []byte(value)
	var err error
	switch {
	case value == "-":
		raw, err = io.ReadAll(io.LimitReader(stdin, maxArgsFile+1))
	case len(value) > 0 && value[0] == '@':
		var f *os.File
		if f, err = os.Open(value[1:]); err == nil {
			raw, err = io.ReadAll(io.LimitReader(f, maxArgsFile+1))
			_ = f.Close() // read only
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read --args: %w", err)
	}
	if len(raw) > maxArgsFile {
		return nil, fmt.Errorf("read --args: more than %d bytes", maxArgsFile)
	}
	if _, err := tool.ReadObject(raw); err != nil {
		return nil, hintError{usageError{fmt.Errorf("--args: %w", err)}, `pass a JSON object, such as --args '{"path": "README.md"}'`}
	}
	return raw, nil
}

func printResult(s *streams, t *tool.Tool, res *tool.Result, asJSON bool) error {
	if asJSON {
		envelope, err := surface.EnvelopeDetails(t, res)
		if err != nil {
			return err
		}
		if err := s.printJSON(envelope); err != nil {
			return err
		}
	} else {
		for _, c := range res.Content {
			printContent(s, c)
		}
		if len(res.Content) == 0 && len(res.Details) > 0 {
			if err := s.printJSON(res.Details); err != nil {
				return err
			}
		}
	}
	if res.IsError {
		return silentError{ExitFailed}
	}
	return nil
}

// refusalOf reads the refusal that a tool of ours answered with, or nil.
func refusalOf(t *tool.Tool, res *tool.Result) error {
	var e struct {
		Code         tool.Code
		Reason, Next string
		By           string `json:"blockedBy"`
	}
	if !res.IsError || !t.Source.Trusted() || json.Unmarshal(res.Details, &e) != nil || e.Code == "" || e.Reason == "" {
		return nil
	}
	return &tool.Error{Code: e.Code, Reason: e.Reason, Next: e.Next, By: e.By}
}

// printContent prints a block for people: text as it is, anything else as a
// line that says what it is.
func printContent(s *streams, c tool.Content) {
	if c.Type == tool.TypeText {
		text := c.Text()
		if s.outTTY { // a tool's output must not drive the terminal
			text = tool.Clean(text, len(text))
		}
		fmt.Fprintln(s.out, text)
		return
	}
	var body struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
		URI      string `json:"uri"`
	}
	_ = json.Unmarshal(c.Raw, &body) // what is missing is left out
	fmt.Fprintf(s.out, "[%s %s %s %d bytes; --json prints it]\n", oneLine(c.Type, 40), oneLine(body.MIMEType, 60),
		oneLine(body.URI, 200), base64.StdEncoding.DecodedLen(len(body.Data)))
}

// cleanBlock makes text of several lines safe for a terminal.
func cleanBlock(text string) string { return tool.Clean(text, 64<<10) }
