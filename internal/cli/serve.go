package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/agent"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/provider"
)

func newServe(app *app) *cobra.Command {
	var opt struct {
		listen string
		json   bool
	}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve models that have all the tools, and MCP, over HTTP",
		Long: `Serve the models of the configuration over the three common APIs, each with
all the tools:

  /v1/chat/completions   OpenAI Chat Completions
  /v1/responses          OpenAI Responses
  /v1/messages           Anthropic Messages
  /v1/models             the models there are
  /tools/invoke          one tool: {"tool": "ID", "args": {…}}
  /mcp                   MCP over streamable HTTP
  /healthz, /readyz, /metrics

Without serve.keys in the configuration it answers programs of this machine
alone. SIGINT and SIGTERM end it once the requests in flight have ended.`,
		Example: `  toolsearch serve
  toolsearch serve --listen 127.0.0.1:0 --json
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 my-agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), app, opt.listen, opt.json) },
	}
	c.Flags().StringVar(&opt.listen, "listen", "", "host:port to listen on; port 0 takes a free one (default: serve.listen, else 127.0.0.1:8787)")
	c.Flags().StringVar(&app.agent, "agent", "", "the agent of callers whose key names none")
	c.Flags().BoolVar(&opt.json, "json", false, "print where it listens as JSON")
	return c
}

// listening is what --json prints.
type listening struct {
	URL    string   `json:"url"`
	MCP    string   `json:"mcp"`
	Models []string `json:"models"`
	Keys   int      `json:"keys"`
}

func serve(ctx context.Context, app *app, listen string, asJSON bool) error {
	// The sources outlive the signal: requests in flight need them while the
	// server drains.
	set, err := app.open(context.WithoutCancel(ctx), openOptions{calls: true, serve: true, watch: true})
	if err != nil {
		return err
	}
	defer set.close()
	cfg := set.cfg.Serve
	keys, err := resolveKeys(cfg.Keys)
	if err != nil {
		return err
	}
	if listen == "" {
		listen = cfg.Listen
	}
	runtime, err := app.newRuntime(set, config.Rules{})
	if err != nil {
		return err
	}
	backend := newServedAgent(runtime, set, app.agent, app.logger())
	mcp, err := app.newServedMCP(set)
	if err != nil {
		return err
	}
	defer mcp.close()
	srv, err := modelapi.New(modelapi.Options{
		Backend: backend, Formats: servedFormats(), Keys: keys, Logger: app.logger(), Metrics: set.watching.metrics,
		Past: servedPast{set.store, set.redactor},
		MCP: server.NewHTTP(server.HTTPOptions{
			Server: mcp.of, Guarded: true, MaxBody: cfg.MaxBody, Logger: app.logger(), User: userOf,
		}),
		MaxBody: cfg.MaxBody, MaxBodies: cfg.MemoryLimit / 2, MaxRequests: cfg.MaxRequests, HeldRuns: cfg.Held.Max, HeldTime: cfg.Held.Time, Drain: cfg.Drain,
	})
	if err != nil {
		return err
	}
	defer srv.Close()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return hintError{fmt.Errorf("listen on %s: %w", listen, err), "choose another address with --listen or serve.listen; port 0 takes a free one"}
	}
	if err := modelapi.CheckListener(l.Addr(), len(keys)); err != nil {
		_ = l.Close() // nobody was answered
		return hintError{err, `configure serve.keys, or listen on 127.0.0.1`}
	}
	setMemory(cfg.MemoryLimit)
	if err := app.printListening(l.Addr(), backend, len(keys), asJSON); err != nil {
		_ = l.Close()
		return err
	}
	return srv.Serve(ctx, l)
}

func (a *app) printListening(addr net.Addr, backend *servedAgent, keys int, asJSON bool) error {
	host, everywhere := reachable(addr)
	at := listening{URL: "http://" + host, MCP: "http://" + host + "/mcp", Models: []string{}, Keys: keys}
	for _, m := range backend.Models() {
		at.Models = append(at.Models, m.ID)
	}
	if asJSON {
		return a.std.printJSON(at)
	}
	if keys == 0 {
		fmt.Fprintln(a.std.err, "warning: no serve.keys are configured: every program of this machine may ask")
	}
	if len(at.Models) == 0 {
		fmt.Fprintln(a.std.err, "warning: no models are listed under models.providers")
	}
	where := at.URL
	if everywhere {
		where += ", and on every other address of this machine"
	}
	_, err := fmt.Fprintf(a.std.out, "listening on %s\n", where)
	return err
}

// reachable is an address that a program of this machine can ask. Nobody can ask
// 0.0.0.0 or [::], which stand for every address.
func reachable(addr net.Addr) (hostPort string, everywhere bool) {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil || !ap.Addr().Unmap().IsUnspecified() {
		return addr.String(), false
	}
	host := "localhost"
	if ap.Addr().Unmap().Is4() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(ap.Port()))), true
}

// resolveKeys fills in the variables of the keys. One that cannot be resolved is
// an error: its caller would wonder, and nobody would know who is let in.
func resolveKeys(configured []config.ServeKey) ([]modelapi.Key, error) {
	var keys []modelapi.Key
	var errs []error
	for _, k := range configured {
		sum, err := k.Sum(os.LookupEnv)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		keys = append(keys, modelapi.Key{Name: k.Name, Sum: sum, Who: k.Who, Metrics: k.Metrics})
	}
	return keys, errors.Join(errs...)
}

func servedFormats() []provider.Format {
	return []provider.Format{agent.Format(provider.Chat), agent.Format(provider.Responses), agent.Format(provider.Messages)}
}
