package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/hook"
)

// Hook is one entry of tools.hooks. Exactly one of Command and URL is given.
// Texts may hold references to variables; Resolve expands them.
type Hook struct {
	Name    string // unique, 1 to 64 letters, digits, '_', '-' and '.'
	Pos     Pos
	Event   hook.Event
	Tools   []Rule // empty: every tool
	Timeout time.Duration
	Command []Text // the program and its arguments
	Env     []NamedText
	Dir     Text
	URL     Text
	Headers []NamedText
}

func hookSection() section[Hook] {
	return section[Hook]{
		path: "tools.hooks[]",
		intro: "One hook: a `command`, which gets the call as JSON on stdin and prints its decision, or a `url`, to which the call is posted. " +
			"It may let the call go on, block it, replace its arguments or its result, add a note, or have a person asked. A hook that fails blocks. " +
			"`${VAR}` and `${VAR:-default}` are allowed in `command`, `env`, `dir`, `url` and `headers`, as with servers.",
		fields: []field[Hook]{
			{row{Key: "name", Type: "string", Bounds: "1–64 letters, digits, `_`, `-`, `.`", Doc: "What refusals name. Required; no two hooks share one."},
				func(r *reader, s spot, h *Hook) {
					if v, ok := r.text(s); ok && !hook.ValidName(v) {
						r.fault(r.at(s), s.path, "no name of a hook", "a name is 1 to 64 letters, digits, '_', '-' and '.'")
					} else if ok {
						h.Name = v
					}
				}},
			choice(row{Key: "event", Doc: "When it runs. Required."}, []string{string(hook.Before), string(hook.After)},
				func(h *Hook, v string, _ Pos) { h.Event = hook.Event(v) }),
			patterns("tools", "The tools it is asked about, as in `tools.deny`. Absent: every tool.", func(h *Hook) *[]Rule { return &h.Tools }),
			millis(row{Key: "timeoutMs", Default: fmt.Sprint(hook.DefaultTimeout.Milliseconds()), Doc: "How long it may take to answer, in milliseconds. One that takes longer blocks the call."},
				hook.MinTimeout, hook.MaxTimeout, func(h *Hook) *time.Duration { return &h.Timeout }),
			{row{Key: "command", Type: "array of strings", Doc: "The program and its arguments; no shell reads them. A program with a `/` is relative to the folder of this file, any other is looked up in `PATH`."},
				func(r *reader, s spot, h *Hook) { h.Command = r.texts(s) }},
			{row{Key: "env", Type: "object of strings", Doc: "Variables of the command. Of the program's own environment it gets only what a program needs to run."},
				func(r *reader, s spot, h *Hook) { h.Env = r.references(s, badEnvName) }},
			{row{Key: "dir", Type: "string", Doc: "The folder the command runs in; relative to the folder of this file. Absent: the root of the file system, where no tool has put files in its way."},
				func(r *reader, s spot, h *Hook) { h.Dir, _ = r.reference(s) }},
			{row{Key: "url", Type: "string", Doc: "The address of an endpoint, `http` or `https`."}, func(r *reader, s spot, h *Hook) { h.URL, _ = r.reference(s) }},
			{row{Key: "headers", Type: "object of strings", Doc: "HTTP headers sent with every request."},
				func(r *reader, s spot, h *Hook) { h.Headers = r.references(s, badHeaderName) }},
		},
		moved: map[string]string{"args": "write them into command, behind the program", "cwd": "write dir", "timeout": "write timeoutMs", "match": "write tools", "matcher": "write tools"},
	}
}

func readHooks(r *reader, s spot, into *[]Hook) {
	r.elems(s, hook.MaxHooks, func(e spot) {
		h := Hook{Pos: r.at(e), Timeout: hook.DefaultTimeout}
		sec := hookSection()
		before := len(r.errs)
		sec.read(r, e, &h)
		if len(r.errs) > before || r.more > 0 {
			return // its key may be the misspelt one
		}
		r.checkHook(e, &h)
		for _, other := range *into {
			if other.Name == h.Name && h.Name != "" {
				r.fault(h.Pos, e.path, fmt.Sprintf("the hook %s stands twice, first at %d:%d", clip(h.Name), other.Pos.Line, other.Pos.Column), "give each hook its own name")
			}
		}
		*into = append(*into, h)
	})
}

// checkHook checks what is between the keys of a hook, none of which is faulty.
func (r *reader) checkHook(s spot, h *Hook) {
	has := func(key string) bool { return s.node.Member(key) != nil }
	switch {
	case !has("name"):
		r.fault(h.Pos, s.path, "has no name", `such as name: "guard"`)
	case !has("event"):
		r.fault(h.Pos, s.path, "has no event", fmt.Sprintf("give event: %q or %q", hook.Before, hook.After))
	case has("command") && has("url"):
		r.fault(h.Pos, s.path, "has both command and url", "keep the one that is to be asked")
	case !has("command") && !has("url"):
		r.fault(h.Pos, s.path, "has neither command nor url", `give command: ["PROGRAM"], or url: "https://…"`)
	case has("command") && (len(h.Command) == 0 || strings.TrimSpace(h.Command[0].Raw) == ""):
		r.fault(h.Pos, s.path.Child("command"), "expected a program and its arguments, found no program", "")
	case has("url") && !strings.Contains(h.URL.Raw, "${") && badURL(h.URL.Raw) != "":
		r.fault(h.URL.Pos, s.path.Child("url"), badURL(h.URL.Raw), "")
	}
	if tools := s.node.Member("tools"); tools != nil && len(h.Tools) == 0 {
		r.fault(r.pos(tools.Start), s.path.Child("tools"), "the hook is asked about no tool", "leave tools out for every tool")
	}
	for _, of := range []struct{ key, owner string }{{"env", "command"}, {"dir", "command"}, {"headers", "url"}} {
		if has(of.key) && !has(of.owner) {
			r.fault(r.pos(s.node.Member(of.key).Start), s.path.Child(of.key), "only a "+of.owner+" has "+of.key, "remove it")
		}
	}
}

// ResolvedHook is what a hook runs, with its variables filled in. It holds
// secrets. It prints as the hook's name alone.
type ResolvedHook struct {
	Name    string
	Command []string // the program is absolute or a name for PATH; empty for a URL
	Env     []Var
	Dir     string // absolute, or ""
	URL     string
	Headers []Var
}

// String names the hook and nothing of what it holds.
func (v ResolvedHook) String() string { return fmt.Sprintf("hook %q", v.Name) }

// GoString is String.
func (v ResolvedHook) GoString() string { return v.String() }

// LogValue is String.
func (v ResolvedHook) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Resolve fills in the variables of a hook, as Server.Resolve does.
func (h *Hook) Resolve(lookup func(string) (string, bool)) (ResolvedHook, error) {
	e := &expander{lookup: lookup}
	v := ResolvedHook{Name: h.Name}
	for i, t := range h.Command {
		word := e.text(t)
		switch {
		case i > 0:
		case strings.TrimSpace(word) == "" && len(e.errs) == 0:
			e.fail(t, "the program is empty once its variables are filled in", "")
		case strings.ContainsAny(word, "/"+string(filepath.Separator)):
			word = e.dir(t)
		}
		if strings.IndexByte(word, 0) >= 0 {
			e.fail(t, "a command may not hold NUL", "")
		}
		v.Command = append(v.Command, word)
	}
	v.Env = e.named(h.Env, "\x00", "a variable may not hold NUL")
	v.Headers = e.named(h.Headers, "\r\n\x00", "a header may not hold a line end")
	v.Dir = e.dir(h.Dir)
	if v.URL = e.text(h.URL); h.URL.Raw != "" && len(e.errs) == 0 {
		if problem := badURL(v.URL); problem != "" {
			e.fail(h.URL, problem+" once its variables are filled in", "")
		}
	}
	if len(e.errs) > 0 {
		return ResolvedHook{}, fmt.Errorf("resolve the variables of hook %q: %w", h.Name, errors.Join(e.errs...))
	}
	return v, nil
}
