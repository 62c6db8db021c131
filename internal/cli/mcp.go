package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/turn"
)

// firstAnswerDeadline is how long a request waits for servers of which nothing
// is known yet. What is not there by then is announced when it comes.
const firstAnswerDeadline = 5 * time.Second

func newMCP(app *app) *cobra.Command {
	var native bool
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve all configured tools to one MCP client over stdio",
		Long: `Put this into an MCP client's configuration:

  {"mcpServers": {"toolsearch": {"command": "toolsearch", "args": ["mcp"]}}}

What the client sees depends on tools.toolSearch.mode: tool_search_code alone in
mode code; tool_search, tool_describe and tool_call in the modes tools and
directory, the latter with a listing of tools in the instructions; one or the
other, or every tool, in mode auto. With tools.toolSearch off it sees every
allowed tool, passed through unchanged.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt := openOptions{calls: true, serve: true, watch: true}
			if native {
				opt.mode = surface.Off
			}
			return serveStdio(cmd.Context(), app, opt)
		},
	}
	c.Flags().StringVar(&app.agent, "agent", "", "use the settings of this agent of the configuration")
	c.Flags().BoolVar(&native, "native-tool-search", false, "the client searches tools itself: give it the tools, and none of our controls")
	return c
}

func serveStdio(ctx context.Context, app *app, opt openOptions) error {
	set, err := app.open(ctx, opt)
	if err != nil {
		return err
	}
	defer set.close()
	srv, stop, err := app.newMCPServer(set, mcpView{surface: set.Surface(), plan: set.Plan, subscribe: set.Subscribe, agent: app.agent, mode: set.mode})
	if err != nil {
		return err
	}
	defer stop()
	defer followMemory(stdioMemory, set.Subscribe)()
	err = srv.Run(ctx, server.Stdio(app.std.in, app.std.out))
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // the client left, or a signal came
	}
	return err
}

// mcpView is what one kind of client sees.
type mcpView struct {
	surface   *surface.Surface
	plan      func() (*turn.Plan, error)
	subscribe func(func(*turn.Plan)) (stop func())
	agent     string
	mode      surface.Mode
}

// newMCPServer makes an MCP server of a view, which tells its clients when what
// they see changes, until stop.
func (a *app) newMCPServer(set *toolset, v mcpView) (srv *server.MCP, stop func(), err error) {
	srv = server.NewMCP(server.Options{
		Surface:     v.surface,
		Version:     version,
		Agent:       v.agent,
		Elicitation: set.elicit,
		Logger:      a.logger(),
		Began:       set.watching.startRun,
		Greet:       v.mode == surface.Directory || v.mode == surface.Auto,
		Ready: func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, firstAnswerDeadline)
			defer cancel()
			set.WaitKnown(ctx)
		},
	})
	plan, err := v.plan()
	if err != nil {
		return nil, nil, err
	}
	shown := plan.View
	unsubscribe := v.subscribe(func(p *turn.Plan) {
		// Only what the client sees is announced: a hidden tool that comes or
		// goes changes no list, and would only cost the client its cache.
		if !shown.SameTools(p.View) {
			srv.ToolsChanged()
		}
		shown = p.View
	})
	return srv, func() { unsubscribe(); srv.Close() }, nil
}

// resolveServers expands the servers' variables. They resolve late: only here,
// and only into the options of the running client.
func resolveServers(cfg *config.Config) ([]mcp.Server, error) {
	var out []mcp.Server
	for _, s := range cfg.MCP.Servers {
		server := mcp.Server{
			Name: s.Name, Disabled: !s.Enabled,
			StartTimeout: s.StartTimeout, CallTimeout: s.CallTimeout, TrustSchemas: s.TrustSchemas,
		}
		if server.Disabled { // its variables need not exist
			server.Command, server.URL = s.Command.Raw, s.URL.Raw
			out = append(out, server)
			continue
		}
		r, err := s.Resolve(os.LookupEnv)
		if err != nil { // of this server alone: the others run
			server.Unusable = err.Error()
			out = append(out, server)
			continue
		}
		server.Command, server.Args, server.Dir, server.URL = r.Command, r.Args, r.Dir, r.URL
		server.Headers = make(map[string]string, len(r.Headers))
		for _, h := range r.Headers {
			server.Headers[h.Name] = h.Value
		}
		for _, v := range r.Env {
			server.Env = append(server.Env, v.Name+"="+v.Value)
		}
		out = append(out, server)
	}
	return out, nil
}
