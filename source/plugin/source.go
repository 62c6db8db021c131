package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/variables"
	"github.com/toolsearch/toolsearch/tool"
)

// Options configures a Source. The zero value is ready to use; a zero bound
// means its default, never "unlimited".
type Options struct {
	Logger        *slog.Logger
	ClientName    string // how we introduce ourselves to a process
	ClientVersion string
	// IdleTimeout is how long a process is kept without a call, where its
	// manifest does not say; 0 = 5 min.
	IdleTimeout time.Duration
	// LookupEnv finds the variables of a manifest when a process starts; nil =
	// os.LookupEnv.
	LookupEnv Lookup
	// RetryMin and RetryMax bound the pause after a failed start, which doubles
	// with each failure; 0 = 1 s and 1 min.
	RetryMin, RetryMax time.Duration
	// StopGrace is each step of closing stdin, SIGTERM and SIGKILL; 0 = 1 s.
	StopGrace time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&o.IdleTimeout, 5 * time.Minute}, {&o.RetryMin, time.Second}, {&o.RetryMax, time.Minute}, {&o.StopGrace, time.Second}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	return o
}

// Source makes the tools of plugins callable. It is safe for concurrent use.
type Source struct {
	hosts []*host // in the order given
	tools []*tool.Tool
	hooks []Hook

	lookup Lookup
}

// Open makes a source of the plugins. It starts nothing. Close must be called.
func Open(plugins []*Plugin, opt Options) (*Source, error) {
	opt = opt.withDefaults()
	s := &Source{lookup: opt.LookupEnv}
	folders := map[string]string{}
	for _, p := range plugins {
		if other, twice := folders[p.ID]; twice {
			return nil, fmt.Errorf("open the plugins: %s and %s both have the id %q; remove one of them", other, p.Dir, p.ID)
		}
		folders[p.ID] = p.Dir
		s.hooks = append(s.hooks, p.Hooks...)
		if p.Start == nil {
			continue
		}
		h := newHost(p, opt)
		s.hosts = append(s.hosts, h)
		for _, t := range p.Tools {
			callable := *t
			callable.Invoker = &invoker{host: h, name: t.Name}
			s.tools = append(s.tools, &callable)
		}
	}
	return s, nil
}

// Tools returns the tools of all plugins, in the order given. They never
// change.
func (s *Source) Tools() []*tool.Tool { return slices.Clone(s.tools) }

// Hooks returns the hooks of all plugins, in the order given; those of one
// plugin stand as in Plugin.Hooks.
func (s *Source) Hooks() []Hook { return slices.Clone(s.hooks) }

// ReadyHooks returns the hooks as package hook runs them, with their variables
// filled in now. One that cannot be made ready is an error: the calls that it
// should see must not go by unseen.
func (s *Source) ReadyHooks() ([]hook.Hook, error) {
	out := make([]hook.Hook, 0, len(s.hooks))
	for _, h := range s.hooks {
		ready, err := h.Ready(s.lookup)
		if err != nil {
			return nil, fmt.Errorf("set up the hooks of the plugins: %w", err)
		}
		out = append(out, ready)
	}
	return out, nil
}

// Secrets returns the values that variables give to the environments, headers and
// addresses of the manifests now, for whoever keeps them out of logs and
// transcripts.
func (s *Source) Secrets() []string {
	var out []string
	add := func(vars []Var) {
		for _, v := range vars {
			if value, err := variables.Expand(v.Value, s.lookup); err == nil && value != v.Value && value != "" {
				out = append(out, value)
			}
		}
	}
	for _, h := range s.hosts {
		add(h.plugin.Start.Env)
	}
	for _, h := range s.hooks {
		add(h.Env)
		add(h.Headers)
		if address, err := variables.Expand(h.URL, s.lookup); err == nil && address != h.URL {
			out = append(out, tool.AddressSecrets(address, func(_, v string) bool {
				return v != "" && !strings.Contains(h.URL, v) // a variable has put it there
			})...)
		}
	}
	return out
}

// Status tells how the processes are doing, in the order of the plugins.
func (s *Source) Status() []Status {
	out := make([]Status, len(s.hosts))
	for i, h := range s.hosts {
		out[i] = h.snapshot()
	}
	return out
}

// Probe starts the process of every plugin, all at once and as a call would, and
// returns Status when each is ready or has failed, at the latest after their start
// timeouts or when ctx ends.
func (s *Source) Probe(ctx context.Context) []Status {
	var all sync.WaitGroup
	for _, h := range s.hosts {
		all.Go(func() {
			if run, err := h.acquire(ctx); err == nil { // Status says what is wrong
				h.release(run)
			}
		})
	}
	all.Wait()
	return s.Status()
}

// Close stops all processes at once and returns when nothing of them is left.
// Calls in flight fail, and later ones are refused.
func (s *Source) Close() error {
	var all sync.WaitGroup
	errs := make([]error, len(s.hosts))
	for i, h := range s.hosts {
		all.Go(func() { errs[i] = h.close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// invoker calls one tool of a plugin.
type invoker struct {
	host *host
	name string
}

// Invoke starts the plugin's process if none runs, and has it run the tool.
// Waiting for the start is bounded by the plugin's start timeout, the call by
// its call timeout.
func (i *invoker) Invoke(ctx context.Context, c tool.Call) (*tool.Result, error) {
	run, err := i.host.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer i.host.release(run)
	target := run.proc.tool(i.name)
	if target == nil {
		return nil, &tool.Error{
			Code:   tool.CodeUnavailable,
			Reason: fmt.Sprintf("plugin %q declares the tool %q, but its process does not offer it", i.host.plugin.ID, i.name),
			Next:   "The plugin must be mended or reinstalled; use another tool.",
		}
	}
	res, err := target.Invoke(ctx, c)
	if err != nil {
		return nil, err
	}
	out := *res
	out.Raw = nil // what a plugin answers is content and details, nothing of the protocol
	return &out, nil
}
