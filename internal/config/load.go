package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// Load reads and checks the file at path; "" gives the defaults. The error is
// *Errors when the file's content is at fault.
func Load(ctx context.Context, path string) (*Config, error) {
	if path == "" {
		return Default(), nil
	}
	src, err := readFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// readFile reads a regular file of at most json5.MaxSize bytes.
func readFile(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	info, err := os.Stat(path) // before opening: a pipe would block
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read the configuration %s: %w; create it with: toolsearch --config %s config set KEY VALUE", path, os.ErrNotExist, ShellQuote(path))
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read the configuration %s: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, json5.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return src, nil
}

// Parse checks the text of a configuration file. The name of the file is for
// messages, and its folder for relative paths. The error is *Errors.
func Parse(file string, src []byte) (*Config, error) {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	doc, err := json5.Parse(src)
	if err != nil {
		return nil, syntaxErrors(file, src, err)
	}
	r := &reader{file: file, doc: doc}
	r.duplicates()
	c := r.config()
	if err := r.finish(); err != nil {
		return nil, err
	}
	c.Path, c.Warnings = file, r.warnings
	return c, nil
}

func syntaxErrors(file string, src []byte, err error) error {
	var at *json5.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("read the configuration %s: %w", file, err)
	}
	e := &Error{Pos: Pos{File: file, Line: at.Pos.Line, Column: at.Pos.Column}, Key: at.Path.String(), Problem: at.Problem, Hint: at.Hint}
	if strings.TrimSpace(string(src)) == "" {
		e.Problem, e.Hint = "the file is empty", "write {} for the defaults"
	}
	return &Errors{List: []*Error{e}}
}

// fileBlock is a whole file as written.
type fileBlock struct {
	tools  toolsBlock
	mcp    MCP
	models Models
	serve  Serve
	watch  Telemetry
	agents agentsBlock
}

// agentsBlock is the section agents; defaults are those of its models.
type agentsBlock struct {
	list     []agentBlock
	defaults Models
}

type agentBlock struct {
	id    string
	pos   Pos
	model ModelRef
	tools toolsBlock
}

func rootSection() section[fileBlock] {
	return section[fileBlock]{
		fields: []field[fileBlock]{
			{row{Key: "tools", Type: "object", Doc: "Which tools there are, and how a model meets them."}, func(r *reader, s spot, f *fileBlock) { readTools(r, s, toolsSection(), &f.tools) }},
			part(row{Key: "mcp", Doc: "MCP servers."}, mcpSection(), func(f *fileBlock) *MCP { return &f.mcp }),
			part(row{Key: "agents", Doc: "Settings of single agents."}, agentsSection(), func(f *fileBlock) *agentsBlock { return &f.agents }),
			part(row{Key: "models", Doc: "Model APIs, and the model that answers when a request names none."}, modelsSection(), func(f *fileBlock) *Models { return &f.models }),
			part(row{Key: "serve", Doc: "What `toolsearch serve` listens on, who may ask, and how much."}, serveSection(), func(f *fileBlock) *Serve { return &f.serve }),
			{row{Key: "telemetry", Type: "object", Doc: "Counts and spans for operators. Off by default."}, func(r *reader, s spot, f *fileBlock) { readTelemetry(r, s, &f.watch) }},
			{row{Key: "$schema", Type: "string", Doc: "For editors; not read."}, func(*reader, spot, *fileBlock) {}},
		},
		stance: lenient,
		foreign: []string{"agent", "meta", "env", "wizard", "diagnostics", "logging", "update", "browser", "ui", "auth", "nodeHost", "bindings", "broadcast",
			"audio", "media", "messages", "commands", "approvals", "session", "cron", "hooks", "web", "channels", "discovery", "canvasHost", "talk", "gateway", "memory", "skills", "plugins"},
		moved: map[string]string{"mcpServers": "servers stand under mcp.servers", "servers": "servers stand under mcp.servers", "toolSearch": "write tools.toolSearch",
			"allow": "write tools.allow", "alsoAllow": "write tools.alsoAllow", "deny": "write tools.deny", "profile": "write tools.profile", "list": "write agents.list"},
		misplaced: inTools,
	}
}

// inTools is the hint for hooks and approvals in our form, which stand under
// tools: other programs have sections of these names at the top.
func inTools(m json5.Member) string {
	switch {
	case m.Key == "hooks" && m.Value.Kind == json5.Array:
		return "write tools.hooks"
	case m.Key == "approvals" && m.Value.Kind == json5.Object:
		for _, f := range approvalsSection().fields {
			if m.Value.Member(f.Key) != nil {
				return "write tools.approvals"
			}
		}
	}
	return ""
}

// inList is the hint for an agent that stands under its name.
func inList(m json5.Member) string {
	if m.Value.Kind == json5.Object && m.Value.Member("tools") != nil {
		return fmt.Sprintf("an agent stands in agents.list, such as {id: %q, tools: {…}}, or in agents.entries under its id", m.Key)
	}
	return ""
}

func mcpSection() section[MCP] {
	return section[MCP]{
		path:   "mcp",
		fields: []field[MCP]{{row{Key: "servers", Type: "object", Doc: "MCP servers by name. A name is 1–128 bytes of printable characters without a colon."}, readServers}},
		stance: lenient,
	}
}

func agentsSection() section[agentsBlock] {
	return section[agentsBlock]{
		path: "agents",
		fields: []field[agentsBlock]{
			{row{Key: "list", Type: "array of objects", Doc: "Agents, each with its `id`."}, readAgentList},
			{row{Key: "entries", Type: "object", Doc: "The same by id, as newer `openclaw.json` files have it."}, readAgentEntries},
			{row{Key: "defaults", Type: "object", Doc: "Of an `openclaw.json`: `model` is read as `models.default`, and the aliases under `models`; the rest is ignored."},
				func(r *reader, s spot, a *agentsBlock) { sec := defaultsSection(); sec.read(r, s, &a.defaults) }},
		},
		stance:    lenient,
		foreign:   []string{"ownership"},
		misplaced: inList,
	}
}

func agentSection() section[agentBlock] {
	return section[agentBlock]{
		path:  "agents.list[]",
		intro: "One agent. Other keys, such as `name` and `workspace`, belong to other programs and are ignored.",
		fields: []field[agentBlock]{
			{row{Key: "id", Type: "string", Doc: "The agent's id; upper and lower case are alike."}, func(r *reader, s spot, a *agentBlock) { a.id, _ = r.text(s) }},
			{row{Key: "model", Type: "string", Doc: "The agent's model, as `provider/model` or by an alias. Absent: `models.default`."}, func(r *reader, s spot, a *agentBlock) { a.model = r.agentModel(s) }},
			{row{Key: "tools", Type: "object", Doc: "The same keys as `tools`: rules that restrict this agent further, and its own `toolSearch`. `approvals`, `hooks`, `pins`, `output` and `transcript` hold for every agent and do not stand here."},
				func(r *reader, s spot, a *agentBlock) { readTools(r, s, agentToolsSection(), &a.tools) }},
		},
		stance:  quiet,
		foreign: []string{"default", "name", "workspace", "agentDir", "skills", "identity", "groupChat", "subagents", "sandbox", "runtime", "cwd", "params", "models"},
	}
}

func readAgentList(r *reader, s spot, into *agentsBlock) {
	if !r.array(s) {
		return
	}
	if len(s.node.Elems) > maxNamed {
		r.fault(r.at(s), s.path, fmt.Sprintf("%d entries; at most %d are read", len(s.node.Elems), maxNamed), "")
		return
	}
	for i := range s.node.Elems {
		e := s.elem(i)
		a := agentBlock{pos: r.at(e)}
		sec := agentSection()
		sec.read(r, e, &a)
		if id := e.node.Member("id"); e.node.Kind == json5.Object && (id == nil || id.Kind == json5.String && badName(a.id) != "") {
			r.fault(a.pos, e.path, "expected an id", `such as id: "main"`)
			continue
		}
		r.addAgent(a, e.path, into)
	}
}

func readAgentEntries(r *reader, s spot, into *agentsBlock) {
	r.each(s, func(id string, s spot, pos Pos) {
		a := agentBlock{}
		sec := agentSection()
		sec.read(r, s, &a)
		a.id, a.pos = id, pos
		r.addAgent(a, s.path, into)
	})
}

func (r *reader) addAgent(a agentBlock, path json5.Path, into *agentsBlock) {
	for _, b := range into.list {
		if strings.EqualFold(a.id, b.id) && a.id != "" {
			r.fault(a.pos, path, fmt.Sprintf("the agent %s stands twice, first at %d:%d", clip(a.id), b.pos.Line, b.pos.Column), "give each agent its own id")
			return
		}
	}
	into.list = append(into.list, a)
}

// config reads the whole tree.
func (r *reader) config() *Config {
	f := fileBlock{tools: toolsBlock{calls: defaultCalls()}, serve: defaultServe(), watch: defaultTelemetry()}
	root := rootSection()
	root.read(r, spot{node: r.doc.Root}, &f)
	c := &Config{
		Tools:  Tools{Policy: f.tools.policy, Calls: f.tools.calls, Core: f.tools.core, ToolSearch: f.tools.search.resolve(r, &f.tools.search)},
		MCP:    f.mcp,
		Models: r.settleModels(f.models, f.agents.defaults), Serve: f.serve, Telemetry: f.watch,
	}
	for _, a := range f.agents.list {
		merged := a.tools.search.over(f.tools.search)
		c.Agents = append(c.Agents, Agent{ID: a.id, Pos: a.pos, Model: a.model, Policy: a.tools.policy, Core: a.tools.core, ToolSearch: merged.resolve(r, &a.tools.search)})
	}
	for _, k := range c.Serve.Keys {
		if _, known := c.Agent(k.Agent); k.Agent != "" && !known {
			r.errs = append(r.errs, &Error{Pos: k.Pos, Key: "serve.keys", Problem: "the key " + clip(k.Name) + " is of an agent that is not configured: " + clip(k.Agent), Hint: "add it to agents.list"})
		}
	}
	return c
}
