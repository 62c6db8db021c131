package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/source/jsonl"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// app is what the verbs share: the global flags, and what they open.
type app struct {
	std        *streams
	configPath string
	verbose    bool

	catalogFile  string // --catalog
	trustSchemas bool   // --trust-schemas
	agent        string // --agent

	// codeExecutable is the binary that code mode re-executes; "" is this one.
	codeExecutable string
}

// catalogFlags adds the flags of every verb that reads tools.
func (a *app) catalogFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.catalogFile, "catalog", "", "read the tools from this JSONL file instead of the configured sources")
	c.Flags().BoolVar(&a.trustSchemas, "trust-schemas", false, "with --catalog: search the parameters of every tool")
	c.Flags().StringVar(&a.agent, "agent", "", "use the settings of this agent of the configuration")
	_ = c.MarkFlagFilename("catalog", "jsonl") // fails only for a flag that does not exist
}

// logger logs to stderr with -v, and else only what went wrong.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.std.err, &slog.HandlerOptions{Level: level}))
}

// loadConfig reads the configuration and prints its warnings.
func (a *app) loadConfig(ctx context.Context) (*config.Config, error) {
	at, err := config.Find(config.FindOptions{Explicit: a.configPath})
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(ctx, at.LoadPath())
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(a.std.err, "warning: %s\n", w)
	}
	return cfg, nil
}

// limits returns the search limits: those of the configuration, or the
// defaults for a catalog file, which needs none.
func (a *app) limits(ctx context.Context) (catalog.Limits, error) {
	ts := config.Default().Tools.ToolSearch
	if a.catalogFile == "" {
		cfg, err := a.loadConfig(ctx)
		if err != nil {
			return catalog.Limits{}, err
		}
		ts = cfg.ToolSearchFor(a.agent)
	}
	return catalog.Limits{Default: ts.SearchDefaultLimit, Max: ts.MaxSearchLimit}, nil
}

// loadCatalogFile reads --catalog and reports the lines it left out.
func (a *app) loadCatalogFile(ctx context.Context) ([]*tool.Tool, error) {
	if a.agent != "" {
		return nil, usagef("--agent %q has no meaning with --catalog: agents are in the configuration", a.agent)
	}
	tools, problems, err := jsonl.LoadFile(ctx, a.catalogFile, jsonl.Options{TrustSchemas: a.trustSchemas})
	if err != nil {
		return nil, err
	}
	const shown = 20
	for i, p := range problems {
		if i == shown {
			fmt.Fprintf(a.std.err, "warning: %s: %d more lines were left out\n", a.catalogFile, len(problems)-shown)
			break
		}
		fmt.Fprintf(a.std.err, "warning: %s:%d: left out: %v\n", a.catalogFile, p.Line, p.Err)
	}
	if len(tools) == 0 {
		return nil, hintError{
			fmt.Errorf("read the catalog file %s: no line of it is a tool", a.catalogFile),
			`each line is a JSON object, such as {"id": "mcp:files:read", "source": "mcp", "server": "files", "name": "read", "description": "Read a file"}`,
		}
	}
	return tools, nil
}

// catalog opens the tools to search: of --catalog, or of the configured
// sources once they have answered or failed.
func (a *app) catalog(ctx context.Context) (*catalog.Catalog, func(), error) {
	return a.catalogFor(ctx, "")
}

// catalogFor is catalog, and waits only for the servers that ref needs.
func (a *app) catalogFor(ctx context.Context, ref string) (*catalog.Catalog, func(), error) {
	if a.catalogFile != "" {
		tools, err := a.loadCatalogFile(ctx)
		if err != nil {
			return nil, nil, err
		}
		cat, err := catalog.Build(catalog.Input{Tools: tools})
		return cat, func() {}, err
	}
	set, err := a.open(ctx, openOptions{core: true, held: true, wait: true, ref: ref})
	if err != nil {
		return nil, nil, err
	}
	cat, err := set.Catalog(ctx)
	if err != nil {
		set.close()
		return nil, nil, err
	}
	return cat, set.close, nil
}

// openOptions say how the configured sources are opened.
type openOptions struct {
	calls bool         // whether tools may be called: this needs the store
	held  bool         // whether changed definitions are held without calls too: this needs the store
	serve bool         // whether an MCP client asks
	watch bool         // whether the program runs for long, and telemetry is opened as configured
	core  bool         // whether core tools are on when the configuration does not say
	wait  bool         // for every server, showing progress
	ref   string       // with wait, when not "": only for what this id or name needs
	mode  surface.Mode // overrides the configuration's when not ""
	scope config.Scope // whose rules hold; the agent is the app's
	all   bool         // plan every tool, whatever the policy says of it: for the operator's eyes alone
}

// toolset is a running Toolset and what closes with it.
type toolset struct {
	*toolsearch.Toolset
	cfg      *config.Config
	search   config.ToolSearch
	mode     surface.Mode // as asked for, before planning
	policy   *policy.Policy
	warnings []string
	elicit   *server.Elicitation  // with openOptions.serve
	store    *store.Store         // with openOptions.calls, or held unless pins are off
	redactor *transcript.Redactor // with openOptions.calls
	watching watching             // with openOptions.watch
	hooks    []plugin.Hook        // of the plugins
	opened   []func()             // closes what was opened, in the order of that
}

// close closes what was opened, the last first.
func (s *toolset) close() {
	for _, closeOne := range slices.Backward(s.opened) {
		closeOne()
	}
}

// open starts the configured sources.
func (a *app) open(ctx context.Context, opt openOptions) (*toolset, error) {
	set, err := a.configured(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := a.start(ctx, set, opt); err != nil {
		set.close()
		return nil, err
	}
	for _, w := range set.warnings {
		fmt.Fprintf(a.std.err, "warning: %s\n", w)
	}
	switch {
	case opt.wait:
		if err := a.waitFor(ctx, set, opt.ref); err != nil {
			set.close()
			return nil, err
		}
	case opt.calls:
		set.opened = append(set.opened, a.warnLater(ctx, set))
	}
	return set, nil
}

// configured reads what holds for a toolset.
func (a *app) configured(ctx context.Context, opt openOptions) (*toolset, error) {
	cfg, err := a.loadConfig(ctx)
	if err != nil {
		return nil, err
	}
	if _, known := cfg.Agent(a.agent); a.agent != "" && !known {
		return nil, unknownAgent(cfg, a.agent)
	}
	set := &toolset{cfg: cfg, search: cfg.ToolSearchFor(a.agent), mode: opt.mode}
	if set.mode == "" {
		set.mode = configuredMode(set.search)
	}
	opt.scope.Agent = a.agent
	pol, warnings, err := newPolicy(cfg, opt.scope)
	if err != nil {
		return nil, err
	}
	set.policy = pol
	for _, w := range warnings {
		set.warnings = append(set.warnings, w.String())
	}
	return set, nil
}

// start opens the sources, what the calls of their tools pass, and the Toolset.
// What it has opened when it fails is for close.
func (a *app) start(ctx context.Context, set *toolset, opt openOptions) error {
	cfg := set.cfg
	keep, err := serverFilter(cfg)
	if err != nil {
		return err
	}
	servers, err := resolveServers(cfg)
	if err != nil {
		return err
	}
	if opt.watch {
		if set.watching, err = a.openTelemetry(cfg.Telemetry); err != nil {
			return err
		}
		set.opened = append(set.opened, set.watching.close)
	}
	own, err := a.openOwnTools(ctx, cfg, opt)
	if err != nil {
		return err
	}
	set.opened = append(set.opened, own.close)
	set.hooks = own.plugins.Hooks()
	rec, err := a.record(ctx, set, own.plugins, opt)
	if err != nil {
		return err
	}
	applied := set.policy
	if opt.all {
		applied, keep = nil, nil
	}
	set.Toolset, err = toolsearch.New(ctx, toolsearch.Options{
		Tools: own.tools, Servers: servers,
		MCP:       mcp.Options{CacheDir: cacheDir(), Logger: a.logger(), ClientName: "toolsearch", ClientVersion: version},
		Mode:      set.mode,
		Limits:    catalog.Limits{Default: set.search.SearchDefaultLimit, Max: set.search.MaxSearchLimit},
		Directory: turn.DirectoryConfig{Required: set.search.Directory.Required},
		Policy:    applied, Keep: keep, Code: a.codeOptions(set.search), Logger: a.logger(),

		Transcript: rec.transcript, Approval: rec.gate, Pins: rec.pins, Hooks: rec.hooks, Output: cfg.Tools.Output,
		Observe: set.watching.stage(), Observer: set.watching.observer(), PlanFailed: a.planFailed(opt),
	})
	if err != nil {
		return err
	}
	set.opened = append(set.opened, func() {
		if err := set.Close(); err != nil {
			fmt.Fprintf(a.std.err, "warning: stop the servers: %v\n", err)
		}
	}, set.watching.follow(set))
	set.warnings = append(set.warnings, set.Warnings()...)
	return nil
}

// record opens what stands around the calls of a toolset, as far as the options
// need it.
func (a *app) record(ctx context.Context, set *toolset, plugins *plugin.Source, opt openOptions) (*recording, error) {
	rec, err := &recording{}, error(nil)
	if opt.calls {
		rec, err = a.openRecording(ctx, recordingOptions{set.cfg, set.policy, plugins, opt.serve})
	} else if opt.held && set.cfg.Tools.Pins != pin.Off {
		rec, err = a.openHolding(ctx, set.cfg.Tools.Pins)
	}
	if err != nil {
		return nil, err
	}
	if rec.close != nil {
		set.opened = append(set.opened, rec.close)
		set.elicit, set.store, set.redactor = rec.elicit, rec.store, rec.redactor
	}
	for _, w := range rec.warnings {
		set.warnings = append(set.warnings, w.String())
	}
	return rec, nil
}

// configuredMode is the mode that the configuration asks for.
func configuredMode(ts config.ToolSearch) surface.Mode {
	switch {
	case !ts.Enabled:
		return surface.Off
	case ts.Mode == config.ModeCode:
		return surface.Code
	case ts.Mode == config.ModeDirectory:
		return surface.Directory
	case ts.Mode == config.ModeAuto:
		return surface.Auto
	}
	return surface.Tools
}

// coreTools opens the core tools, in the current folder.
func (a *app) coreTools(cfg *config.Config, byDefault bool) ([]*tool.Tool, func(), error) {
	on := byDefault
	if cfg.Tools.Core != nil {
		on = *cfg.Tools.Core
	}
	if agent, ok := cfg.Agent(a.agent); ok && agent.Core != nil {
		on = *agent.Core
	}
	if !on {
		return nil, func() {}, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("open the core tools: %w", err)
	}
	rules := []string{config.FileName} // also where there is none yet: it would count at the next start
	if cfg.Path != "" {
		rules = append(rules, cfg.Path)
	}
	src, err := core.New(core.Options{Workspace: folder, Rules: rules})
	if err != nil {
		return nil, nil, err
	}
	return src.Tools(), func() {
		if err := src.Close(); err != nil {
			fmt.Fprintf(a.std.err, "warning: close the core tools: %v\n", err)
		}
	}, nil
}

// cacheDir is where the servers' last known tools are kept; "" keeps none.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "toolsearch", "mcp")
}

// completeFirst completes a verb's first argument, and none behind it.
func completeFirst(list func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTools completes the ids of the last known tools.
func (a *app) completeTools(ctx context.Context) []string {
	var tools []*tool.Tool
	if a.catalogFile != "" {
		tools, _, _ = jsonl.LoadFile(ctx, a.catalogFile, jsonl.Options{}) // no completions for a bad file
	} else if set, err := a.open(ctx, openOptions{core: true, held: true}); err == nil {
		defer set.close()
		if plan, err := set.Plan(); err == nil {
			tools = plan.Allowed
		}
	}
	ids := make([]string, 0, len(tools))
	for _, t := range tools {
		ids = append(ids, fmt.Sprintf("%s\t%s", t.ID, oneLine(t.Description, 60)))
	}
	return ids
}
