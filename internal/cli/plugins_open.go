package cli

import (
	"context"
	"fmt"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

// openPlugins opens the installed plugins. A faulty one is left out with a
// warning, unless calls will be made: its hooks may be what should stop them.
func (a *app) openPlugins(ctx context.Context, calls bool) (*plugin.Source, error) {
	root, err := plugin.DefaultRoot()
	if err != nil {
		return nil, err
	}
	plugins, problems := plugin.Installed(ctx, root)
	for _, p := range problems {
		if calls {
			return nil, hintError{
				fmt.Errorf("open the installed plugins: %w", p),
				"mend it, or remove it with 'toolsearch plugins remove'; no call is made without its hooks",
			}
		}
		fmt.Fprintf(a.std.err, "warning: plugin left out: %s\n", cleanBlock(p.Error()))
	}
	return plugin.Open(plugins, plugin.Options{Logger: a.logger(), ClientName: "toolsearch", ClientVersion: version})
}

// ownTools are what runs without an MCP server: the core tools and the plugins.
type ownTools struct {
	tools   []*tool.Tool
	plugins *plugin.Source
	close   func()
}

func (a *app) openOwnTools(ctx context.Context, cfg *config.Config, opt openOptions) (*ownTools, error) {
	tools, closeCore, err := a.coreTools(cfg, opt.core)
	if err != nil {
		return nil, err
	}
	plugins, err := a.openPlugins(ctx, opt.calls)
	if err != nil {
		closeCore()
		return nil, err
	}
	return &ownTools{tools: append(tools, plugins.Tools()...), plugins: plugins, close: func() {
		if err := plugins.Close(); err != nil {
			fmt.Fprintf(a.std.err, "warning: stop the plugins: %v\n", err)
		}
		closeCore()
	}}, nil
}
