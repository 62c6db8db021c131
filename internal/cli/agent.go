package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// maxMessage bounds, in bytes, a message read from stdin.
const maxMessage = 1 << 20

func newAgent(app *app) *cobra.Command {
	var opt struct {
		model, session string
		allow, deny    []string
		json           bool
	}
	c := &cobra.Command{
		Use:   "agent MESSAGE",
		Short: "Ask a model that has all the tools",
		Long: `Ask a model that has all the tools. The answer streams to stdout; which tools
run is shown on stderr when it is a terminal.

The model is one of models.providers in the configuration. With --session the
conversation goes on where the last message of that session ended.`,
		Example: `  toolsearch agent "What is on my calendar tomorrow?"
  toolsearch agent --session trip "And the day after?"
  git diff | toolsearch agent -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			message, err := readMessage(app.std.in, args[0])
			if err != nil {
				return err
			}
			set, err := app.open(cmd.Context(), openOptions{calls: true, core: true})
			if err != nil {
				return err
			}
			defer set.close()
			runtime, err := app.newRuntime(set, config.Rules{Allow: patterns(opt.allow), Deny: patterns(opt.deny)})
			if err != nil {
				return err
			}
			chat := &chat{app: app, set: set, runtime: runtime, model: opt.model, session: opt.session, json: opt.json}
			return chat.say(cmd.Context(), message)
		},
	}
	c.Flags().StringVar(&opt.model, "model", "", `the model, as "provider/model" or by an alias; default: models.default`)
	c.Flags().StringVar(&opt.session, "session", "", "go on with this conversation, or begin it")
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	c.Flags().StringSliceVar(&opt.allow, "allow", nil, "of the tools that the configuration allows, only these: names, ids, groups or globs")
	c.Flags().StringSliceVar(&opt.deny, "deny", nil, "not these")
	c.Flags().BoolVar(&opt.json, "json", false, "print the answer and what it took as JSON")
	return c
}

// readMessage returns the message, from stdin for "-".
func readMessage(stdin io.Reader, arg string) (string, error) {
	if arg != "-" {
		if strings.TrimSpace(arg) == "" {
			return "", usagef("the message is empty")
		}
		return arg, nil
	}
	raw, err := io.ReadAll(io.LimitReader(stdin, maxMessage+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the message from stdin: %w", err)
	case len(raw) > maxMessage:
		return "", usagef("the message on stdin has more than %d bytes", maxMessage)
	case !utf8.Valid(raw):
		return "", usagef("the message on stdin is not UTF-8 text")
	case strings.TrimSpace(string(raw)) == "":
		return "", usagef("the message on stdin is empty")
	}
	return string(raw), nil
}

// patterns are rules of the command line.
func patterns(list []string) []config.Rule {
	out := make([]config.Rule, len(list))
	for i, p := range list {
		out[i] = config.Rule{Pattern: p, Pos: config.Pos{File: "the command line"}}
	}
	return out
}

// newRuntime makes what starts the runs of agents.
func (a *app) newRuntime(set *toolset, run config.Rules) (*agent.Runtime, error) {
	return agent.New(agent.Options{
		Config: set.cfg, Tools: set.Toolset, Lookup: os.LookupEnv, Logger: a.logger(),
		Limits: set.cfg.Serve.Limits,
		Rules:  rulesOf(set.cfg, run),
		Began:  set.watching.startRun,
	})
}

// rulesOf says what the configuration has for each kind of run.
func rulesOf(cfg *config.Config, run config.Rules) func(agent.Kind) (agent.Rules, error) {
	return func(k agent.Kind) (agent.Rules, error) {
		pol, _, err := newPolicy(cfg, config.Scope{
			Agent: k.Agent, Provider: k.Provider, Model: k.Model, Sender: k.Sender, Group: k.Group, Sandbox: k.Sandbox, Subagent: k.Subagent, Run: run,
		})
		if err != nil {
			return agent.Rules{}, err
		}
		ts := cfg.ToolSearchFor(k.Agent)
		return agent.Rules{
			ScopeOptions: toolsearch.ScopeOptions{
				Policy: pol, Mode: configuredMode(ts), ContextTokens: k.ContextTokens, Required: ts.Directory.Required,
				Limits: catalog.Limits{Default: ts.SearchDefaultLimit, Max: ts.MaxSearchLimit},
			},
			Likely: ts.Directory.Likely,
		}, nil
	}
}

// chat is one message of a conversation on the command line.
type chat struct {
	app            *app
	set            *toolset
	runtime        *agent.Runtime
	model, session string
	json           bool

	midLine bool // stdout stands behind a text without a newline
}

// chatAnswer is what --json prints.
type chatAnswer struct {
	Session string `json:"session"`
	Run     string `json:"run"`
	Model   string `json:"model"`
	Text    string `json:"text"`
	Stop    string `json:"stop"`
	Limit   string `json:"limit,omitempty"`
	Rounds  int    `json:"rounds"`
	Calls   int    `json:"toolCalls"`
	Tokens  struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	} `json:"tokens"`
}

func (c *chat) say(ctx context.Context, message string) error {
	messages, err := c.history(ctx)
	if err != nil {
		return err
	}
	messages = append(messages, provider.Message{Role: provider.User, Blocks: []provider.Block{{Kind: provider.Text, Text: message}}})
	run, err := c.runtime.Start(ctx, agent.Request{
		Request: provider.Request{Model: c.model, Messages: messages, Stream: !c.json},
		Who:     config.Who{Agent: c.app.agent}, Session: c.session, Observe: c.observe,
	})
	if err != nil {
		return err
	}
	defer run.Close()
	step, err := run.Next(ctx, turn.Input{}, c.show)
	if c.midLine {
		fmt.Fprintln(c.app.std.out)
	}
	if err != nil {
		return unavailable(ctx, err)
	}
	var kept error // told last: the answer is there whether it can be kept or not
	if c.session != "" {
		kept = c.keep(ctx, run)
	}
	if c.json {
		if err := c.app.std.printJSON(answerOf(run, step)); err != nil {
			return errors.Join(err, kept)
		}
	}
	if step.Limit != nil {
		return errors.Join(step.Limit, kept)
	}
	return kept
}

func answerOf(run *agent.Run, step *turn.Step) chatAnswer {
	used := run.Used()
	a := chatAnswer{Session: run.Origin.Session, Run: run.Origin.Run, Model: run.Model.Ref(), Text: step.Response.Text(), Stop: string(step.Response.Stop), Rounds: used.Rounds, Calls: used.Calls}
	a.Tokens.Input, a.Tokens.Output = used.Usage.Input, used.Usage.Output
	if step.Limit != nil {
		a.Limit = string(step.Limit.Limit)
	}
	return a
}

// show prints what streams.
func (c *chat) show(e provider.Event) error {
	if e.Kind != provider.TextDelta || e.Text == "" {
		return nil
	}
	c.midLine = !strings.HasSuffix(e.Text, "\n")
	_, err := io.WriteString(c.app.std.out, visibleText(e.Text))
	return err
}

// visibleText keeps a model from steering the terminal, and from showing text in
// another order than it stands. Joiners stay: scripts and emoji need them.
func visibleText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7F && r < 0xA0: // controls
			return -1
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F: // order, tags
			return -1
		}
		return r
	}, s)
}

// observe shows which tools run, for whoever looks on.
func (c *chat) observe(a turn.Activity) {
	std := c.app.std
	if !std.errTTY && !c.app.verbose {
		return
	}
	if a.Kind == turn.CallStarted {
		fmt.Fprintf(std.err, "%s\n", std.dim("→ "+oneLine(tool.Clean(a.Name, 128), 60)+" "+oneLine(compact(a.Args), 100)))
		return
	}
	mark := "✓"
	if a.Outcome != turn.Succeeded {
		mark = "✗"
	}
	fmt.Fprintf(std.err, "%s\n", std.dim(fmt.Sprintf("%s %s (%s)", mark, oneLine(tool.Clean(a.Name, 128), 60), a.Duration.Round(time.Millisecond))))
}

func compact(args json.RawMessage) string { return tool.Clean(string(args), 400) }

// history reads what was said in the session.
func (c *chat) history(ctx context.Context) ([]provider.Message, error) {
	if c.session == "" {
		return nil, nil
	}
	kept, err := c.set.store.Conversation(ctx, c.session)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	format := agent.Format(provider.API(kept.API))
	if format == nil {
		return nil, fmt.Errorf("read session %q: it is kept in the unknown format %q; begin a new session", c.session, kept.API)
	}
	req, err := format.DecodeRequest(kept.Body)
	if err != nil {
		return nil, fmt.Errorf("read session %q: %w; begin a new session", c.session, err)
	}
	return req.Messages, nil
}

// keep writes what was said, in the words of the model's API.
func (c *chat) keep(ctx context.Context, run *agent.Run) error {
	format := agent.Format(run.Model.API)
	said := slices.DeleteFunc(run.Messages(), func(m provider.Message) bool { return m.Role == provider.System })
	body, err := format.EncodeRequest(&provider.Request{Model: run.Model.ID, Messages: said})
	if err != nil {
		return fmt.Errorf("keep session %q: %w", c.session, err)
	}
	return c.set.store.PutConversation(ctx, store.Conversation{Session: c.session, API: string(run.Model.API), Body: c.set.redactor.JSON(body)})
}

// unavailable marks the failure of a model API as one of a source, unless the
// API says that the request is wrong.
func unavailable(ctx context.Context, err error) error {
	var refused *provider.Error
	if ctx.Err() != nil || errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500 && refused.Status != 429 {
		return err
	}
	return &tool.Error{Code: tool.CodeUnavailable, Reason: err.Error(), Next: "Try again later, or use another --model.", Err: err}
}
