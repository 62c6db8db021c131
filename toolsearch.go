// Package toolsearch gives an agent any number of tools for the price of
// three. It collects tools (Go functions, MCP servers), filters them by
// policy, and offers a small surface to search, describe and call them.
//
//	set, err := toolsearch.New(ctx, toolsearch.Options{
//		Tools:   []*tool.Tool{add, greet},
//		Servers: []mcp.Server{{Name: "files", Command: "files-server"}},
//	})
//	defer set.Close()
//	hits, err := set.Search(ctx, "read a file", 5)
//	result, err := set.Call(ctx, string(hits[0].ID), json.RawMessage(`{"path":"a.txt"}`))
//
// To give the surface to a model, send [Toolset.Visible] as its tools and
// answer each tool call with [Toolset.Handle].
//
// Everything a Toolset does passes one pipeline: policy, validation, dispatch.
// What the policy does not allow does not exist for the model.
package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
	"github.com/toolsearch/toolsearch/turn"
)

// defaultLimits are the search limits when Options names none.
var defaultLimits = catalog.Limits{Default: 8, Max: 20}

// compiledSchemas bounds the compiled JSON Schemas kept in memory.
const compiledSchemas = 1024

// Options makes a Toolset. The zero value has no tools and mode Tools.
type Options struct {
	Tools   []*tool.Tool // the program's own, see Func
	Servers []mcp.Server // MCP servers to start or connect to
	MCP     mcp.Options  // how to run them
	Mode    surface.Mode // default surface.Tools; surface.Auto leaves it to planning
	Limits  catalog.Limits
	// Policy filters the tools; nil allows every tool. Core tools that change
	// the machine (write, edit, exec) run only when it names them.
	Policy *policy.Policy
	// Keep is a further filter beside Policy: a tool for which it is false does
	// not exist. Nil keeps all.
	Keep   func(*tool.Tool) bool
	Logger *slog.Logger
	// Directory configures mode Directory.
	Directory turn.DirectoryConfig
	// Code configures mode Code, and Auto where that may become it. It needs a main function that begins with
	// child.Main, of package code/child; without it, or where no isolated runtime
	// can start, the mode becomes Tools, and Warnings says why.
	Code code.Options
	// Transcript, when not nil, records every call; a call that cannot be
	// recorded does not run.
	Transcript *transcript.Transcript
	// Observe, when not nil, is a stage that sees every call and how it ended,
	// refusals included: what watches the pipeline goes here.
	Observe call.Stage
	// Observer, when not nil, is told of searches and describes.
	Observer surface.Observer
	// Approval, when not nil, decides which calls a person is asked about. With
	// nil, core tools that change the machine run only when Policy names them.
	Approval *approval.Gate
	// Output bounds each result that a model reads; zero fields are the defaults.
	// What is cut can be paged with tool_call.
	Output call.Limits
	// Pins, when not nil, holds the tools of MCP servers to their definitions.
	Pins *pin.Pinner
	// Hooks, when not nil, run around every call. Close does not close them.
	Hooks *hook.Set
	// PlanFailed, when not nil, is told instead of the log when a change of the
	// servers begins to leave a scope without any tool. It must not block.
	PlanFailed func(error)
}

// Toolset is a running set of tools. It is safe for concurrent use.
type Toolset struct {
	options  Options // with the defaults filled in
	main     *Scope
	servers  *mcp.Manager
	surface  *surface.Surface
	schemas  *schema.Cache
	shaper   *call.Shaper
	repeats  *call.Repeats
	running  context.Context // ends at Close
	stop     context.CancelFunc
	planners sync.WaitGroup
	warnings []string

	runtimeMu  sync.Mutex
	runner     *code.Runner // nil until a scope of mode Code asks for one
	runtimeErr error        // why there is none
}

// New starts the servers in parallel and returns at once: their last known
// tools are there when Options.MCP.CacheDir is set, the others appear as they
// connect. Wait waits for them. A server that fails is reported by Status and
// stops nothing. Close must be called.
func New(ctx context.Context, opt Options) (*Toolset, error) {
	if opt.Mode == "" {
		opt.Mode = surface.Tools
	}
	if opt.Limits == (catalog.Limits{}) {
		opt.Limits = defaultLimits
	}
	if opt.Policy == nil {
		var err error
		if opt.Policy, _, err = policy.Compile(nil); err != nil {
			return nil, fmt.Errorf("make a toolset: %w", err)
		}
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	pager, err := call.NewPager(call.PagerConfig{})
	if err != nil {
		return nil, fmt.Errorf("make a toolset: %w", err)
	}
	shaper, err := call.NewShaper(opt.Output, pager)
	if err != nil {
		return nil, fmt.Errorf("make a toolset: %w", err)
	}
	servers, err := mcp.NewManager(opt.Servers, opt.MCP)
	if err != nil {
		return nil, fmt.Errorf("make a toolset: %w", err)
	}
	t := &Toolset{
		options: opt, servers: servers, shaper: shaper,
		schemas: schema.NewCache(compiledSchemas), repeats: call.NewRepeats(),
	}
	t.running, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := t.begin(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// begin makes the toolset's own scope and starts the servers.
func (t *Toolset) begin(ctx context.Context) error {
	var err error
	if t.main, err = t.scope(ctx, t.options, surface.MCPNameLimit); err != nil {
		return err
	}
	t.warnings = t.main.warnings
	t.surface, err = t.main.surface(surface.Config{View: t.main.planner.View})
	if err != nil {
		return err
	}
	t.servers.Start(ctx)
	if _, err := t.main.planner.Refresh(); err != nil {
		return err
	}
	t.main.follow()
	return nil
}

// Close stops the servers and the code runtime, their children with them, and
// waits until all are gone.
func (t *Toolset) Close() error {
	t.stop()
	t.planners.Wait()
	err := t.servers.Close()
	t.runtimeMu.Lock()
	defer t.runtimeMu.Unlock()
	if t.runner != nil {
		err = errors.Join(err, t.runner.Close())
	}
	t.runner, t.runtimeErr = nil, errors.New("the toolset is closed")
	return err
}

// runtime returns the code runtime, which starts when it is first asked for.
func (t *Toolset) runtime(ctx context.Context) (*code.Runner, error) {
	t.runtimeMu.Lock()
	defer t.runtimeMu.Unlock()
	if t.runner == nil && t.runtimeErr == nil {
		t.runner, t.runtimeErr = code.New(ctx, t.options.Code)
	}
	return t.runner, t.runtimeErr
}

// Warnings says what is not as the options asked.
func (t *Toolset) Warnings() []string { return t.warnings }

// CodeLayers says how the bodies of mode Code are confined; nil in other modes.
func (t *Toolset) CodeLayers() []code.Layer {
	t.runtimeMu.Lock()
	defer t.runtimeMu.Unlock()
	if t.runner == nil {
		return nil
	}
	return t.runner.Layers()
}

// RunCode runs a JavaScript body against the current catalog. It needs mode
// Code. The blocks are those that the returned value holds.
func (t *Toolset) RunCode(ctx context.Context, body string) (*surface.CodeAnswer, []tool.Content, error) {
	c, err := t.Catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	return t.surface.RunCode(ctx, c, body, surface.Request{})
}

// Wait waits until every server is connected or has failed, and then plans
// what they offer. It is not an error when servers failed: see Status.
func (t *Toolset) Wait(ctx context.Context) error {
	if err := t.servers.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the MCP servers: %w", err)
	}
	_, err := t.main.planner.Refresh()
	return err
}

// WaitKnown waits until every server has either a last known list, or answered,
// or failed. A server that takes longer than ctx is left out, not an error:
// searches say so.
func (t *Toolset) WaitKnown(ctx context.Context) {
	for {
		snap := t.servers.Snapshot()
		unknown := slices.ContainsFunc(snap.Status, func(s mcp.Status) bool {
			return s.State == mcp.Starting && !s.Stale
		})
		if !unknown {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-snap.Superseded():
		}
	}
	t.main.planner.Update()
}

// Servers returns what the MCP servers offer now, before policy.
func (t *Toolset) Servers() mcp.Snapshot { return t.servers.Snapshot() }

// Status tells how each server is doing, in configuration order.
func (t *Toolset) Status() []mcp.Status { return t.servers.Snapshot().Status }

// Plan returns what the model sees now and what stands behind it.
func (t *Toolset) Plan() (*turn.Plan, error) { return t.main.planner.Current() }

// Subscribe has changed called when what the model sees may have changed.
func (t *Toolset) Subscribe(changed func(*turn.Plan)) (stop func()) {
	return t.main.planner.Subscribe(changed)
}

// Surface is what a model sees and says.
func (t *Toolset) Surface() *surface.Surface { return t.surface }

// Visible lists the tools to send to the model.
func (t *Toolset) Visible() []surface.Visible { return t.surface.Visible() }

// Handle runs one tool call of the model, by the name it used. A failure is a
// result that the model can read; the error says that no tool has the name.
func (t *Toolset) Handle(ctx context.Context, name string, args json.RawMessage) (*tool.Result, error) {
	return t.surface.Call(ctx, name, surface.Request{Args: args})
}

// Search finds tools by what they do, best first. limit is at least 1.
func (t *Toolset) Search(ctx context.Context, query string, limit int) ([]catalog.Hit, error) {
	c, err := t.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("search %q: limit must be at least 1, not %d", query, limit)
	}
	return c.Search(rank.Query{Text: query, Limit: limit}).Hits, nil
}

// Describe returns one tool in full, by id or unique name.
func (t *Toolset) Describe(ctx context.Context, ref string) (catalog.Description, error) {
	c, err := t.Catalog(ctx)
	if err != nil {
		return catalog.Description{}, err
	}
	found, err := surface.Resolve(c, ref)
	if err != nil {
		return catalog.Description{}, err
	}
	return catalog.Description{Hit: c.Entry(found), Tool: found}, nil
}

// Call runs one tool, by id or unique name, through the pipeline. The error,
// if any, is a *tool.Error.
func (t *Toolset) Call(ctx context.Context, ref string, args json.RawMessage) (*tool.Result, error) {
	target, err := t.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	return t.main.Call(ctx, call.Request{Target: target, Args: args})
}

// Resolve finds an allowed tool by id or unique name, visible or not.
func (t *Toolset) Resolve(ctx context.Context, ref string) (*tool.Tool, error) {
	return t.main.Resolve(ctx, ref)
}

// Catalog returns the current catalog of every allowed tool that is not
// direct-only. With mode Off, in which the model needs none, it is built at the
// first call, and anew when the tools have changed.
func (t *Toolset) Catalog(ctx context.Context) (*catalog.Catalog, error) { return t.main.Catalog(ctx) }
