package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

// notAPlugin adds what a plugin is, for a folder without a manifest.
func notAPlugin(err error) error {
	var faults plugin.Errors
	if !errors.As(err, &faults) && errors.Is(err, fs.ErrNotExist) {
		return hintError{err, "name a folder that has a manifest, " + plugin.ManifestName}
	}
	return err
}

// askable returns nil when every hook of the plugin in the folder could be asked
// now. One that cannot would keep every call of every tool from being made.
func askable(ctx context.Context, from string) error {
	p, err := plugin.Load(ctx, from)
	if err != nil {
		return err
	}
	for _, h := range p.Hooks {
		if _, err := h.Ready(os.LookupEnv); err != nil {
			return hintError{
				fmt.Errorf("add plugin %q: %w", p.ID, err),
				"mend it first: no call of any tool is made while a hook cannot be asked",
			}
		}
	}
	return nil
}

// printDoubts warns of what will not work once the plugin in the folder is
// installed, and stops nothing but itself.
func (a *app) printDoubts(ctx context.Context, from string) error {
	p, err := plugin.Load(ctx, from)
	if err != nil {
		return err
	}
	if err := p.Startable(os.LookupEnv); err != nil {
		fmt.Fprintf(a.std.err, "warning: its tools cannot be called as it stands: %s\n", cleanBlock(err.Error()))
	}
	taken, err := a.takenNames(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, t := range p.Tools {
		if other, is := taken[t.Name]; is {
			fmt.Fprintf(a.std.err, "warning: its tool %s bears the name of %s: nothing can be planned where a model would see both; rename it, or deny one of them by its id\n", t.Name, other)
		}
	}
	return nil
}

// takenNames are the names of the core tools and of those of other plugins.
func (a *app) takenNames(ctx context.Context, id string) (map[string]tool.ID, error) {
	taken := map[string]tool.ID{}
	core, done, err := a.coreTools(&config.Config{}, true)
	if err != nil {
		return nil, err
	}
	defer done()
	root, err := plugin.DefaultRoot()
	if err != nil {
		return nil, err
	}
	plugins, _ := plugin.Installed(ctx, root) // the faulty ones have no tools
	for _, p := range plugins {
		if p.ID == id {
			continue
		}
		for _, t := range p.Tools {
			taken[t.Name] = t.ID
		}
	}
	for _, t := range core {
		taken[t.Name] = t.ID
	}
	return taken, nil
}
