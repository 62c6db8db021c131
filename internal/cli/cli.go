// Package cli is the command line: one file per verb.
//
// Manners of every verb: data goes to stdout, everything else to stderr;
// --json prints data as JSON; colour and progress appear only on a terminal
// (NO_COLOR is honoured); an error is "toolsearch: what: why" and a hint line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/editdistance"
	"github.com/toolsearch/toolsearch/tool"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitRefused     = 3 // by policy or approval
	ExitUnavailable = 4 // a source
)

// codeExecutableEnv names another binary for code mode's children: a build with
// cgo, such as one with the race detector, cannot confine itself.
const codeExecutableEnv = "TOOLSEARCH_CODE_EXECUTABLE"

// Main runs the command line and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	std := newStreams(stdin, stdout, stderr)
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		printError(std, err)
		return exitCode(err)
	}
	return ExitOK
}

// usageError marks a wrong command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hintError adds what to do next to an error.
type hintError struct {
	err  error
	hint string
}

func (e hintError) Error() string { return e.err.Error() }
func (e hintError) Unwrap() error { return e.err }

// silentError only sets the exit code: what is wrong was printed already.
type silentError struct{ code int }

func (e silentError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func exitCode(err error) int {
	var silent silentError
	if errors.As(err, &silent) {
		return silent.code
	}
	var usage usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	var te *tool.Error
	if errors.As(err, &te) {
		switch te.Code {
		case tool.CodeBlocked:
			return ExitRefused
		case tool.CodeUnavailable:
			return ExitUnavailable
		case tool.CodeInvalidInput:
			return ExitUsage
		}
	}
	return ExitFailed
}

func printError(s *streams, err error) {
	var silent silentError
	if errors.As(err, &silent) {
		return
	}
	var hint hintError
	var te *tool.Error
	switch {
	case errors.As(err, &hint):
		fmt.Fprintf(s.err, "toolsearch: %s\nhint: %s\n", tool.Clean(err.Error(), 4000), hint.hint)
	case errors.As(err, &te) && te.Code == tool.CodeUnknownTool:
		fmt.Fprintf(s.err, "toolsearch: %s\nhint: %s\n", tool.Clean(te.Reason, 4000), forPeople(te))
	case errors.As(err, &te) && te.Next != "":
		// The user is who reads this.
		next := strings.TrimPrefix(tool.Clean(te.Next, 4000), "Ask the user to ")
		fmt.Fprintf(s.err, "toolsearch: %s\nhint: %s\n", reasonAndWho(te), next)
	default:
		fmt.Fprintf(s.err, "toolsearch: %s\n", tool.Clean(err.Error(), 4000))
	}
}

// reasonAndWho is what a refusal says, and who refused: of several hooks, which.
func reasonAndWho(e *tool.Error) string {
	text := tool.Clean(e.Reason, 4000)
	named := strings.Contains(text, strconv.Quote(e.By)) || e.By == "approval" && strings.Contains(text, e.By)
	if e.By != "" && !named {
		text += " [" + tool.Clean(e.By, 300) + "]"
	}
	return text
}

// forPeople words for a person what a model is told of an unknown tool. Only a
// person may hear that a rule can hide one.
func forPeople(e *tool.Error) string {
	next := strings.ReplaceAll(tool.Clean(e.Next, 4000), "tool_search", "'toolsearch search'")
	return next + " 'toolsearch policy explain ID' tells whether a rule removes it."
}

func newRoot(std *streams) *cobra.Command {
	app := &app{std: std, codeExecutable: os.Getenv(codeExecutableEnv)}
	root := &cobra.Command{
		Use:   "toolsearch",
		Short: "Any number of tools for any agent, for the price of three",
		Long: `Toolsearch collects tools from MCP servers, plugins and its own set, filters
them by policy, and shows an agent a small surface to search, describe and
call them.

Exit codes: 0 ok, 1 failed, 2 usage, 3 refused by policy or approval,
4 a source is unavailable.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// The flag is of a command that is misspelt: it is not the flag that is wrong.
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
			return hintError{usagef("unknown command %q for %q", words[0], c.CommandPath()), commandHint(c, words[0])}
		}
		return hintError{usageError{err}, fmt.Sprintf("see '%s --help'", c.CommandPath())}
	})
	root.PersistentFlags().StringVar(&app.configPath, "config", "", "configuration file (default: $TOOLSEARCH_CONFIG, ./toolsearch.json5, then the user's config folder)")
	root.PersistentFlags().BoolVarP(&app.verbose, "verbose", "v", false, "log to stderr what is going on")
	root.AddCommand(
		newSearch(app), newDescribe(app), newCall(app), newAgent(app), newServe(app), newQA(app), newCode(app), newPlan(app), newPolicyVerb(app), newServers(app),
		newMCP(app), newSessions(app), newApprovals(app), newPins(app), newPlugins(app), newConfig(app), newEval(app), newDoctor(app), newVersion(app),
	)
	wrapArgs(root)
	return root
}

// wrapArgs makes a wrong number of arguments a usage error with a hint.
func wrapArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		var own hintError
		switch {
		case err == nil, errors.As(err, &own):
			return err
		case c.HasSubCommands() && len(args) > 0:
			return hintError{usageError{err}, commandHint(c, args[0])}
		}
		if strings.Contains(c.Use, " ") { // it takes some
			err = wrongArgs(c, len(args))
		}
		return hintError{usageError{err}, fmt.Sprintf("usage: %s", c.UseLine())}
	}
}

// wrongArgs says that a verb takes arguments, but not so many.
func wrongArgs(c *cobra.Command, given int) error {
	verb := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	return usagef("%s: wrong number of arguments: %d", verb, given)
}

// maxTypos is how far a word may be from a command that was perhaps meant.
const maxTypos = 2

// commandHint names the commands of c that are nearest to word.
func commandHint(c *cobra.Command, word string) string {
	const longest = 64 // bytes of a word that could be a command
	nearest, meant := maxTypos, []string{}
	for _, sub := range c.Commands() {
		if len(word) > longest || !sub.IsAvailableCommand() {
			continue
		}
		typos := editdistance.Of([]byte(word), []byte(sub.Name()))
		if strings.HasPrefix(sub.Name(), word) {
			typos = min(typos, 1)
		}
		if typos > nearest || typos >= len(sub.Name()) {
			continue
		}
		if typos < nearest {
			nearest, meant = typos, nil
		}
		meant = append(meant, fmt.Sprintf("'%s %s'", c.CommandPath(), sub.Name()))
	}
	if len(meant) == 0 {
		return fmt.Sprintf("'%s --help' lists the commands", c.CommandPath())
	}
	return "did you mean " + strings.Join(meant, " or ") + "?"
}
