package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/policy"
)

// Ready returns what package hook runs, with its variables filled in. The name
// in a hook.Set is the plugin's id, a dot and the hook's name.
func (h Hook) Ready(lookup Lookup) (hook.Hook, error) {
	h, err := h.Expand(lookup)
	if err != nil {
		return hook.Hook{}, err
	}
	out := hook.Hook{Name: h.fullName(), Event: h.Event, Timeout: h.Timeout}
	for _, pattern := range h.Match {
		out.Tools = append(out.Tools, policy.Entry{Pattern: pattern})
	}
	if h.URL != "" {
		header := http.Header{}
		for _, v := range h.Headers {
			header.Set(v.Name, v.Value)
		}
		out.Runner, err = hook.HTTP(hook.HTTPConfig{URL: h.URL, Header: header})
	} else {
		cfg := hook.CommandConfig{Command: append([]string{h.Command}, h.Args...), Dir: h.Dir}
		for _, v := range h.Env {
			cfg.Env = append(cfg.Env, v.Name+"="+v.Value)
		}
		out.Runner, err = hook.Command(cfg)
	}
	if err != nil {
		return hook.Hook{}, fmt.Errorf("hook %q of plugin %q: %w", h.Name, h.Plugin, err)
	}
	return out, nil
}

func (h Hook) fullName() string { return h.Plugin + "." + h.Name }

// Expand returns the hook with its variables filled in, its command absolute or
// in PATH. The result holds secrets.
func (h Hook) Expand(lookup Lookup) (Hook, error) {
	e := &expander{lookup: lookup}
	out := h
	out.Args = e.texts("args", h.Args)
	out.Env = e.vars("env", h.Env)
	out.Headers = e.vars("headers", h.Headers)
	if h.Command != "" {
		out.Command = e.text("command", h.Command)
		if e.err == nil && !insideOrElsewhere(out.Command) {
			e.err = errors.New("command: the program lies outside the plugin's folder once its variables are filled in")
		}
		out.Command = program(h.Dir, out.Command)
	}
	if h.URL != "" {
		out.URL = e.text("url", h.URL)
		if e.err == nil && !httpURL(out.URL) {
			e.err = errors.New("url: it is no http or https address once its variables are filled in")
		}
	}
	for _, v := range out.Headers {
		if e.err == nil && strings.ContainsAny(v.Value, "\r\n\x00") {
			e.err = fmt.Errorf("headers.%s: it holds a line end once its variables are filled in", v.Name)
		}
	}
	if e.err != nil {
		return Hook{}, fmt.Errorf("hook %q of plugin %q: %w", h.Name, h.Plugin, e.err)
	}
	return out, nil
}
