// Package agent puts the parts of an agent's run together: the model that a
// request names, the rules that hold for who asks, the tools of the catalog and
// those the caller brought, and the loop between them. The served endpoints and
// the command line both start their runs here.
package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/source/client"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

const (
	maxClients = 256              // model APIs whose client is kept
	patience   = 10 * time.Second // for servers of which nothing is known yet
)

// Options make a Runtime.
type Options struct {
	Config *config.Config
	Tools  *toolsearch.Toolset
	// Rules says what holds for a kind of run. It is asked about once for each kind,
	// concurrently. Kinds under the same rules share a plan.
	Rules  func(Kind) (Rules, error)
	Lookup func(string) (string, bool) // variables, for the keys of model APIs
	Limits turn.Limits                 // zero fields are the defaults
	HTTP   *http.Client                // nil is provider.NewHTTPClient
	Retry  provider.Retry
	Logger *slog.Logger
	// Began, when not nil, is told of each run that begins, and its answer of
	// its end; the run goes on with the context it returns. The view is nil for the
	// call of one tool without a model.
	Began func(ctx context.Context, o call.Origin, v *surface.View) (context.Context, func(error))
}

// Request is one request to an agent.
type Request struct {
	provider.Request        // Model is as a client names it, "" for the default one
	Caller           string // the authenticated identity, "" for the local user
	config.Who
	// Session names the conversation; "" derives one from how the messages begin,
	// so that a client that knows no sessions has stable prompts too.
	Session string
	Observe func(turn.Activity) // may be nil; see turn.Options
}

// Run is a started run.
type Run struct {
	*turn.Run
	Origin call.Origin // its session and run, as the transcript knows them
	Tools  *toolsearch.Session
	Model  Model
	ended  func(error) // may be nil
	once   sync.Once
}

// Close ends the run; see turn.Run. It may be called again.
func (r *Run) Close() {
	r.Run.Close()
	if r.ended != nil {
		r.ended(nil)
	}
}

// Runtime starts runs. It is safe for concurrent use.
type Runtime struct {
	opt    Options
	asking sync.Once
	known  chan struct{} // closed when the servers' tools are known, or take too long

	rules  *shared[Kind, Rules]
	scopes *shared[scopeKey, *toolsearch.Scope]

	mu      sync.Mutex
	clients *simplelru.LRU[clientKey, provider.Model]
}

// New makes a Runtime.
func New(o Options) (*Runtime, error) {
	if o.Config == nil || o.Tools == nil || o.Rules == nil {
		return nil, errors.New("make an agent: a configuration, tools and their rules are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = provider.NewHTTPClient()
	}
	if o.Lookup == nil {
		o.Lookup = func(string) (string, bool) { return "", false }
	}
	limits, err := turn.CheckLimits(o.Limits)
	if err != nil {
		return nil, fmt.Errorf("make an agent: %w", err)
	}
	o.Limits = limits
	r := &Runtime{opt: o, known: make(chan struct{})}
	if r.rules, err = newShared[Kind, Rules](maxKinds, nil); err != nil {
		return nil, fmt.Errorf("make an agent: %w", err)
	}
	if r.scopes, err = newShared[scopeKey](maxScopes, (*toolsearch.Scope).Close); err != nil {
		return nil, fmt.Errorf("make an agent: %w", err)
	}
	if r.clients, err = simplelru.NewLRU[clientKey, provider.Model](maxClients, nil); err != nil {
		return nil, fmt.Errorf("make an agent: %w", err)
	}
	return r, nil
}

// Start begins a run. A request that cannot be served is a *provider.Error with
// the status to answer. The run keeps the values of ctx and outlives it; its
// Close must be called.
func (r *Runtime) Start(ctx context.Context, req Request) (*Run, error) {
	model, err := r.Model(req.Model, req.Agent)
	if err != nil {
		return nil, err
	}
	if err := refuseKept(&req, model); err != nil {
		return nil, err
	}
	upstream, err := r.client(model)
	if err != nil {
		return nil, err
	}
	r.await(ctx)
	req.NativeToolSearch = req.NativeToolSearch || model.NativeToolSearch
	scope, err := r.scope(ctx, Kind{
		Who: req.Who, Provider: model.Provider.Name, Model: model.ID,
		ContextTokens: model.ContextWindow,
	})
	if err != nil {
		return nil, err
	}
	if req.Session == "" {
		req.Session = conversation(&req)
	}
	search, err := readSearch(&req, model)
	if err != nil {
		return nil, err
	}
	session, err := r.session(scope, &req)
	if err != nil {
		return nil, err
	}
	run := &Run{
		Origin: call.Origin{Session: req.Session, Run: newID(), Agent: req.Agent, Caller: req.Caller},
		Tools:  session, Model: model,
	}
	o := turn.Options{
		Model: upstream, Request: req.Request, Tools: session, Origin: run.Origin, Limits: r.opt.Limits, Observe: req.Observe,
	}
	o.Request.Model = model.ID
	o.Request.Messages = withListing(req.Messages, session.Front().Listing)
	if err := search.apply(&o, session); err != nil {
		return nil, err
	}
	if scope.likely {
		for _, t := range turn.Likely(session.View(), lastWords(req.Messages), turn.MaxLikely) {
			o.Added = append(o.Added, offered(t))
		}
	}
	if err := r.begin(ctx, run, o); err != nil {
		return nil, err
	}
	return run, nil
}

// begin begins the loop. What is refused is no run: it is recorded after that,
// and before the model is asked.
func (r *Runtime) begin(ctx context.Context, run *Run, o turn.Options) error {
	fail := func(err error) error { return err }
	if r.opt.Began != nil {
		began, ended := r.opt.Began(ctx, run.Origin, run.Tools.View())
		ctx, run.ended = began, func(err error) { run.once.Do(func() { ended(err) }) }
		fail = func(err error) error { run.ended(err); return err }
	}
	var err error
	if run.Run, err = turn.Start(ctx, o); err != nil {
		return fail(refuse(http.StatusBadRequest, "tools", err.Error()))
	}
	if err := run.Tools.Begin(ctx, run.Origin); err != nil {
		run.Run.Close()
		return fail(fmt.Errorf("record the run: %w", err))
	}
	return nil
}

// session puts the tools of the request beside the catalog's.
func (r *Runtime) session(scope ruled, req *Request) (*toolsearch.Session, error) {
	var defs []client.Def
	deferred := map[string]bool{}
	for _, t := range req.Tools {
		if t.Name != "" {
			name := t.FullName()
			defs = append(defs, client.Def{Name: name, Description: t.Description, Parameters: t.Parameters, Defer: t.Defer})
			deferred[name] = t.Defer
		}
	}
	demanded, one, err := req.Demanded()
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{} // what the choice names must be there to be called
	if one {
		req.Params.Choice = provider.ChooseTool(demanded.FullName())
		needed[demanded.FullName()] = true
	}
	req.Params.Allowed = req.AllowedTools()
	for _, name := range req.Params.Allowed {
		needed[name] = true
	}
	tools, err := client.Tools(defs, nil)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "tools", err.Error())
	}
	s, err := scope.Session(toolsearch.SessionOptions{
		Client:   tools,
		Visible:  func(t *tool.Tool) bool { return needed[t.Name] },
		Deferred: func(t *tool.Tool) bool { return deferred[t.Name] && !req.NativeToolSearch },
		Key:      req.Caller + "\x00" + req.Session,
	})
	var taken *turn.CollisionError
	if errors.As(err, &taken) {
		return nil, refuse(http.StatusBadRequest, "tools", taken.Error())
	}
	return s, err
}

// withListing puts the listing of directory mode behind what the caller's
// system prompt says.
func withListing(messages []provider.Message, listing string) []provider.Message {
	if listing == "" {
		return messages
	}
	n := 0
	for n < len(messages) && messages[n].Role == provider.System {
		n++
	}
	out := make([]provider.Message, 0, len(messages)+1)
	out = append(out, messages[:n]...)
	out = append(out, provider.Message{Role: provider.System, Blocks: []provider.Block{{Kind: provider.Text, Text: listing}}})
	return append(out, messages[n:]...)
}

// offered is a tool of the catalog as a model is offered it.
func offered(t *tool.Tool) provider.Tool {
	d := surface.Direct(t, surface.WireName(t, surface.ModelNameLimit))
	if t.Source == tool.MCP {
		d.Parameters = tool.ModelSchema(d.Parameters)
	}
	return provider.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
}

// lastWords is the text of the last message, if the user wrote it.
func lastWords(messages []provider.Message) string {
	if len(messages) == 0 || messages[len(messages)-1].Role != provider.User {
		return ""
	}
	var out []string
	for _, b := range messages[len(messages)-1].Blocks {
		if b.Kind == provider.Text {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}

// conversation names the conversation of a client that does not: by who asks,
// and by the messages up to its first of the user, which every later request
// repeats.
func conversation(req *Request) string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	write(req.Caller, req.Agent, req.Model)
	for _, m := range req.Messages {
		write(string(m.Role))
		for _, b := range m.Blocks {
			write(b.Text, b.Image.Data, b.Image.URL)
		}
		if m.Role == provider.User {
			break
		}
	}
	return "c-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// newID names a run.
func newID() string { return "r-" + rand.Text() }

// refuseKept refuses what only an API of Responses keeps, for a model behind another
// one: it would hear the new messages alone, and nobody would know.
func refuseKept(req *Request, m Model) error {
	if req.API != provider.Responses || m.API == provider.Responses {
		return nil
	}
	for _, name := range []string{"conversation", "prompt"} {
		if !tool.Absent(req.Fields.Get(name)) {
			return refuse(http.StatusBadRequest, name, fmt.Sprintf("%s: model %s is behind another API, which keeps none; send all of it as input, or go on with previous_response_id", name, m.Ref()))
		}
	}
	return nil
}

// refuse is a refusal in the words of a model API.
func refuse(status int, param, message string) *provider.Error {
	return &provider.Error{Status: status, Type: "invalid_request_error", Param: param, Message: message}
}
