package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/internal/variables"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of texts that are shown.
const (
	maxLabel       = 200
	maxDescription = 16 << 10
	maxPattern     = 256
	maxHookName    = 64 // as package hook has it
)

// reader checks a decoded manifest and makes a Plugin of it.
type reader struct {
	file, dir string
	doc       *json5.Document
	faults    Errors
}

// placedSchema is a schema of the manifest and where it stands.
type placedSchema struct {
	raw json.RawMessage
	at  Error // without a problem
}

// place is a path into the manifest.
type place = json5.Path

func key(parts ...string) place {
	var p place
	for _, k := range parts {
		p = p.Child(k)
	}
	return p
}

// at returns an Error without a problem: at the value, or where that is
// missing at the nearest value around it.
func (r *reader) at(p place) Error {
	for n := len(p); ; n-- {
		if node := r.doc.Get(p[:n]); node != nil {
			pos := r.doc.Pos(node.Start)
			return Error{File: r.file, Line: pos.Line, Column: pos.Column, Key: p.String()}
		}
	}
}

func (r *reader) fault(p place, hint, format string, args ...any) {
	if len(r.faults) >= maxErrors {
		return
	}
	e := r.at(p)
	e.Problem, e.Hint = fmt.Sprintf(format, args...), hint
	r.faults = append(r.faults, &e)
}

func (r *reader) has(p place) bool { return r.doc.Get(p) != nil }

func (r *reader) plugin(m *manifest) *Plugin {
	p := &Plugin{
		ID: m.ID, Dir: r.dir,
		Name:        tool.CleanLine(cmp.Or(m.Name, m.ID), maxLabel),
		Description: tool.Clean(m.Description, maxDescription),
		Version:     tool.CleanLine(m.Version, maxLabel),
	}
	r.id(m.ID)
	if m.Start != nil {
		p.Start = r.start(m.Start)
	}
	r.tools(p, m.Tools)
	p.Hooks = r.hooks(m)
	switch {
	case len(m.Tools) > 0 && m.Start == nil:
		r.fault(key("start"), `say how to run it, such as start: {command: "node", args: ["server.js"]}`, "missing; a plugin with tools needs a process")
	case len(m.Tools) == 0 && m.Start != nil:
		r.fault(key("start"), "declare the tools of its process under tools, or leave start out", "a process without a tool is never started")
	case len(m.Tools) == 0 && len(p.Hooks) == 0 && len(r.faults) == 0:
		r.fault(place{}, "declare something under tools or hooks", "the plugin has neither tools nor hooks")
	}
	slices.SortStableFunc(r.faults, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p
}

const idRule = "expected 1 to 64 of a-z, 0-9, '-' and '_', the first a letter or digit"

func (r *reader) id(id string) {
	at := key("id")
	switch {
	case !r.has(at):
		r.fault(at, "", "missing; %s", idRule)
	case !ValidID(id):
		r.fault(at, "", "%s is no id; %s", clip(id), idRule)
	case reservedID(id):
		r.fault(at, "choose another", "the id %s is reserved", clip(id))
	}
}

// ValidID reports whether a text has the form of a plugin's id.
func ValidID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// reservedID reports ids that mean something else in a policy or an id, and
// names that a file system keeps for devices.
func reservedID(id string) bool {
	switch id {
	case tool.CoreOwner, tool.ClientOwner, string(tool.OpenClaw), string(tool.MCP), "bundle-mcp", "group",
		"con", "prn", "aux", "nul":
		return true
	}
	if len(id) == 4 && (strings.HasPrefix(id, "com") || strings.HasPrefix(id, "lpt")) && id[3] >= '0' && id[3] <= '9' {
		return true
	}
	return slices.Contains(policy.Controls(), tool.Normalize(id))
}

func (r *reader) start(b *startBlock) *Start {
	at := key("start")
	r.command(at, b.Command, b.Args)
	s := &Start{
		Command: b.Command, Args: b.Args, Cwd: b.Cwd,
		Env:          r.vars(at.Child("env"), b.Env, true),
		StartTimeout: r.millis(at.Child("startTimeoutMs"), b.StartTimeoutMs, span{100 * time.Millisecond, 10 * time.Minute, 30 * time.Second}),
		CallTimeout:  r.millis(at.Child("callTimeoutMs"), b.CallTimeoutMs, span{100 * time.Millisecond, 10 * time.Minute, time.Minute}),
		IdleTimeout:  r.millis(at.Child("idleTimeoutMs"), b.IdleTimeoutMs, span{100 * time.Millisecond, 24 * time.Hour, 0}),
	}
	r.template(at.Child("cwd"), b.Cwd)
	if b.Cwd != "" && !strings.Contains(b.Cwd, "${") && !filepath.IsLocal(filepath.FromSlash(b.Cwd)) {
		r.fault(at.Child("cwd"), "", "%s leaves the plugin's folder; expected a path inside it", clip(b.Cwd))
	}
	return s
}

// command checks a program and its arguments under at.
func (r *reader) command(at place, command string, args []string) {
	where := at.Child("command")
	if strings.TrimSpace(command) == "" {
		r.fault(where, "", "missing or empty; expected a program, such as \"node\" or \"./server\"")
	} else if !strings.Contains(command, "${") && !insideOrElsewhere(command) {
		r.fault(where, "", "%s leaves the plugin's folder; expected a program in PATH, a path inside the folder, or an absolute one", clip(command))
	}
	r.template(where, command)
	if len(args) > maxArgs {
		r.fault(at.Child("args"), "", "%d arguments, at most %d are allowed", len(args), maxArgs)
	}
	for i, a := range args[:min(len(args), maxArgs)] {
		r.template(at.Child("args").Elem(i), a)
	}
}

// insideOrElsewhere reports whether a command is a program in PATH, an absolute
// path, or a path that stays inside the folder.
func insideOrElsewhere(command string) bool {
	return filepath.IsAbs(command) || filepath.IsLocal(filepath.FromSlash(command))
}

// template checks a text that may hold variables.
func (r *reader) template(at place, text string) {
	switch {
	case len(text) > maxText:
		r.fault(at, "", "longer than %d bytes", maxText)
	case strings.ContainsRune(text, 0):
		r.fault(at, "", "it holds a NUL character")
	default:
		if _, err := variables.Expand(text, func(string) (string, bool) { return "", true }); err != nil {
			r.fault(at, "", "%v", err)
		}
	}
}

// vars reads variables of the environment, or headers.
func (r *reader) vars(at place, m map[string]string, environment bool) []Var {
	if len(m) > maxVars {
		r.fault(at, "", "%d entries, at most %d are allowed", len(m), maxVars)
		return nil
	}
	var out []Var
	for name, value := range m {
		out = append(out, Var{name, value})
	}
	slices.SortFunc(out, func(a, b Var) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range out {
		where := at.Child(v.Name)
		switch {
		case environment && !variables.ValidName(v.Name):
			r.fault(where, "", "%s is no name of a variable; expected letters, digits and '_'", clip(v.Name))
		case !environment && !headerName(v.Name):
			r.fault(where, "", "%s is no name of a header; expected letters, digits and '-'", clip(v.Name))
		case !environment && strings.ContainsAny(v.Value, "\r\n"):
			r.fault(where, "", "a header may not hold a line end")
		}
		r.template(where, v.Value)
	}
	return out
}

// span bounds a time of the manifest.
type span struct{ low, high, byDefault time.Duration }

func (r *reader) millis(at place, ms *int64, in span) time.Duration {
	if ms == nil {
		return in.byDefault
	}
	low, high := in.low.Milliseconds(), in.high.Milliseconds()
	if *ms < low || *ms > high {
		r.fault(at, "", "%d is out of bounds; expected %d to %d milliseconds", *ms, low, high)
	}
	return time.Duration(min(max(*ms, low), high)) * time.Millisecond
}

func (r *reader) tools(p *Plugin, blocks []toolBlock) {
	at := key("tools")
	if len(blocks) > maxTools {
		r.fault(at, "", "%d tools, at most %d are allowed", len(blocks), maxTools)
		return
	}
	seen := map[string]string{} // normalised name → name
	for i, b := range blocks {
		where := at.Elem(i)
		r.toolName(where, b.Name, seen)
		t := &tool.Tool{
			ID:     tool.NewID(tool.OpenClaw, p.ID, b.Name),
			Source: tool.OpenClaw, Owner: p.ID, Name: b.Name,
			Label:       tool.CleanLine(cmp.Or(b.Label, b.Annotations.Title), maxLabel),
			Description: tool.Clean(b.Description, maxDescription),
			Annotations: b.Annotations,
			Sequential:  b.Sequential,
			Revision:    r.revision(where),
		}
		t.Annotations.Title = tool.CleanLine(b.Annotations.Title, maxLabel)
		if strings.TrimSpace(b.Description) == "" {
			r.fault(where.Child("description"), "", "missing or empty; expected a text by which the tool is found")
		}
		switch {
		case !r.has(where.Child("parameters")):
			r.fault(where.Child("parameters"), `without parameters write {type: "object", properties: {}, additionalProperties: false}`, "missing; expected the JSON Schema of the tool's arguments")
		case r.schema(p, where.Child("parameters"), b.Parameters, true):
			t.Input = tool.RawSchema(b.Parameters)
		}
		if r.has(where.Child("outputSchema")) && r.schema(p, where.Child("outputSchema"), b.OutputSchema, false) {
			t.Output = tool.RawSchema(b.OutputSchema)
		}
		switch mode := where.Child("catalogMode"); {
		case b.CatalogMode == string(tool.DirectOnly):
			t.Mode = tool.DirectOnly
		case r.has(mode):
			r.fault(mode, "leave the key out for a tool that is found by search", "unknown value %s; expected %q", clip(b.CatalogMode), tool.DirectOnly)
		}
		p.Tools = append(p.Tools, t)
	}
}

const toolNameRule = "expected 1 to 64 letters, digits, '_' and '-'"

func (r *reader) toolName(at place, name string, seen map[string]string) {
	where := at.Child("name")
	folded := tool.Normalize(name)
	switch {
	case !r.has(where):
		r.fault(where, "", "missing; %s", toolNameRule)
	case !validToolName(name):
		r.fault(where, "", "%s is no tool name; %s", clip(name), toolNameRule)
	case slices.Contains(policy.Controls(), folded):
		r.fault(where, "choose another", "the name %s belongs to a control", clip(name))
	case seen[folded] == name:
		r.fault(where, "remove one of them", "the tool %s is declared twice", clip(name))
	case seen[folded] != "":
		r.fault(where, "rename one of them", "the tool %s differs from %s only in case or punctuation", clip(name), clip(seen[folded]))
	default:
		seen[folded] = name
	}
}

func validToolName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func validHookName(name string) bool { return validToolName(name) }

// schema checks the form of a schema; Check compiles it.
func (r *reader) schema(p *Plugin, at place, raw json.RawMessage, ofObject bool) bool {
	node := r.doc.Get(at)
	if node.Kind != json5.Object {
		r.fault(at, "", "expected a JSON Schema, which is an object, found %s", node.Kind)
		return false
	}
	if typ := node.Member("type"); ofObject && typ != nil && typ.Str() != "object" {
		r.fault(at.Child("type"), "", `expected "object": arguments are an object`)
		return false
	}
	p.schemas = append(p.schemas, placedSchema{raw, r.at(at)})
	return true
}

// revision is a digest of a tool's block.
func (r *reader) revision(at place) string {
	raw, err := r.doc.Get(at).JSON()
	if err != nil { // NaN or Infinity outside a schema: a wrong type, reported by Decode
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

func (r *reader) hooks(m *manifest) []Hook {
	var out []Hook
	seen := map[string]bool{}
	for _, group := range []struct {
		event  hook.Event
		short  string
		blocks []hookBlock
	}{{hook.Before, "before", m.Hooks.Before}, {hook.After, "after", m.Hooks.After}} {
		at := key("hooks", string(group.event))
		if len(group.blocks) > maxHooks {
			r.fault(at, "", "%d hooks, at most %d are allowed", len(group.blocks), maxHooks)
			continue
		}
		for i, b := range group.blocks {
			h := r.hook(at.Elem(i), b)
			h.Plugin, h.Event = m.ID, group.event
			if h.Name == "" {
				h.Name = fmt.Sprintf("%s-%d", group.short, i+1)
			}
			switch name := at.Elem(i).Child("name"); {
			case !validHookName(h.Name) || len(h.fullName()) > maxHookName:
				r.fault(name, "", "%s is no name of a hook; expected letters, digits, '_' and '-', with the plugin's id and a dot at most %d characters", clip(b.Name), maxHookName)
			case seen[h.Name]:
				r.fault(name, "rename one of them", "two hooks are called %s", clip(h.Name))
			}
			seen[h.Name] = true
			out = append(out, h)
		}
	}
	return out
}

func (r *reader) hook(at place, b hookBlock) Hook {
	h := Hook{
		Name: b.Name, Match: b.Match, Dir: r.dir,
		Command: b.Command, Args: b.Args, URL: b.URL,
		Timeout: r.millis(at.Child("timeoutMs"), b.TimeoutMs, span{hook.MinTimeout, hook.MaxTimeout, hook.DefaultTimeout}),
		Env:     r.vars(at.Child("env"), b.Env, true),
		Headers: r.vars(at.Child("headers"), b.Headers, false),
	}
	if len(h.Match) == 0 {
		if r.has(at.Child("match")) {
			r.fault(at.Child("match"), `leave the key out, or write ["*"], for every tool`, "an empty list matches no tool")
		}
		h.Match = []string{"*"}
	}
	for i, pattern := range h.Match {
		if strings.TrimSpace(pattern) == "" || len(pattern) > maxPattern {
			r.fault(at.Child("match").Elem(i), "", "expected a tool pattern of 1 to %d bytes, such as \"exec\", \"group:fs\" or \"mcp:files:*\"", maxPattern)
		}
	}
	switch command, address := r.has(at.Child("command")), r.has(at.Child("url")); {
	case command && address:
		r.fault(at.Child("url"), "remove one of them", "both a command and a url are given")
	case address:
		r.hookURL(at, b)
	case command:
		r.command(at, b.Command, b.Args)
		if len(b.Headers) > 0 {
			r.fault(at.Child("headers"), "", "only a url takes headers")
		}
	default:
		r.fault(at, "", "neither a command nor a url is given; expected one of them")
	}
	return h
}

func (r *reader) hookURL(at place, b hookBlock) {
	where := at.Child("url")
	r.template(where, b.URL)
	if !strings.Contains(b.URL, "${") && !httpURL(b.URL) {
		r.fault(where, "", "expected an address that begins with http:// or https:// and names a host")
	}
	if len(b.Args) > 0 {
		r.fault(at.Child("args"), "", "only a command takes args")
	}
	if len(b.Env) > 0 {
		r.fault(at.Child("env"), "", "only a command takes env")
	}
}

func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// Check compiles the schemas of the plugin's tools. A fault is an Errors, as of
// Load. A plugin that is not checked is safe too: a tool whose schema does not
// compile is refused when it is called.
func (p *Plugin) Check() error {
	var faults Errors
	for _, s := range p.schemas {
		if _, err := schema.Compile(s.raw); err != nil && len(faults) < maxErrors {
			e := s.at
			e.Problem = err.Error()
			faults = append(faults, &e)
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// clip quotes a short text of the manifest.
func clip(s string) string {
	s, _ = tool.CutChars(s, 60)
	return json5.Quote(s, '"')
}
