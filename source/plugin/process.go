package plugin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/tool"
)

// process is what stands behind a plugin's tools while it runs.
type process interface {
	// ready waits until its tools are listed, and says why that failed.
	ready(ctx context.Context) error
	// tool returns what runs a tool, nil when the process has none of the name.
	tool(name string) tool.Invoker
	// names are the tools it lists, in its order.
	names() []string
	// stop ends the process and returns when nothing of it is left.
	stop() error
}

// server is a process as an MCP server over stdio.
type server struct{ m *mcp.Manager }

// Startable says why the plugin's process could not be started now: a variable
// that is not set, or a program that is not there. It starts nothing, and is nil
// for a plugin without a process.
func (p *Plugin) Startable(lookup Lookup) error {
	if p.Start == nil {
		return nil
	}
	start, err := p.Start.Expand(p.Dir, lookup)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(start.Command); err != nil {
		if lookup := (*exec.Error)(nil); errors.As(err, &lookup) {
			err = lookup.Err // without the name, which stands here
		}
		return fmt.Errorf("start.command: run %q: %w", start.Command, err)
	}
	return nil
}

// launch starts the plugin's process.
func launch(p *Plugin, opt Options) (process, error) {
	start, err := p.Start.Expand(p.Dir, opt.LookupEnv)
	if err != nil {
		return nil, err
	}
	cfg := mcp.Server{
		Name: "plugin " + p.ID, Called: fmt.Sprintf("plugin %q", p.ID),
		Command: start.Command, Args: start.Args, Dir: start.Cwd,
		StartTimeout: start.StartTimeout, CallTimeout: start.CallTimeout,
	}
	for _, v := range start.Env {
		cfg.Env = append(cfg.Env, v.Name+"="+v.Value)
	}
	m, err := mcp.NewManager([]mcp.Server{cfg}, mcp.Options{
		Logger: opt.Logger, ClientName: opt.ClientName, ClientVersion: opt.ClientVersion,
		RetryMin: opt.RetryMin, RetryMax: opt.RetryMax, StopGrace: opt.StopGrace,
	})
	if err != nil {
		return nil, err
	}
	m.Start(context.Background())
	return &server{m}, nil
}

func (s *server) ready(ctx context.Context) error {
	if err := s.m.Wait(ctx); err != nil {
		return err
	}
	if st := s.m.Snapshot().Status[0]; st.State == mcp.Failed {
		return errors.New(st.LastError)
	}
	return nil
}

func (s *server) tool(name string) tool.Invoker {
	for _, t := range s.m.Snapshot().Tools {
		if t.Name == name {
			return t.Invoker
		}
	}
	return nil
}

func (s *server) names() []string {
	var out []string
	for _, t := range s.m.Snapshot().Tools {
		out = append(out, t.Name)
	}
	return out
}

func (s *server) stop() error {
	if err := s.m.Close(); err != nil {
		return fmt.Errorf("stop the process: %w", err)
	}
	return nil
}

// compare returns the names that only the process and only the manifest has.
func compare(p *Plugin, listed []string) (undeclared, missing []string) {
	declared := make([]string, len(p.Tools))
	for i, t := range p.Tools {
		declared[i] = t.Name
	}
	for _, name := range listed {
		if !slices.Contains(declared, name) {
			undeclared = append(undeclared, name)
		}
	}
	for _, name := range declared {
		if !slices.Contains(listed, name) {
			missing = append(missing, name)
		}
	}
	return undeclared, missing
}
