package config

import (
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// Secrets are the values of the file, with its variables filled in, that no
// record may hold wherever they turn up: the keys and headers of model APIs, of
// hooks, of telemetry and of whoever may ask us, the environments and headers of
// servers and hooks, and what is secret in an address. A text whose variables are
// not set gives none. Of headers that a model API or a receiver of telemetry gets,
// and of the query of an address, only what looks secret counts: a version or a
// format would be found in every other text.
func (c *Config) Secrets(lookup func(string) (string, bool)) []string {
	e := &expander{lookup: lookup}
	var out []string
	value := func(t Text) { out = append(out, e.text(t)) }
	environment := func(texts []NamedText) {
		for _, t := range texts {
			value(t.Text)
		}
	}
	headers := func(texts []NamedText, all bool) {
		for _, t := range texts {
			v := e.text(t.Text)
			if !all && !looksSecret(t.Name, v) {
				continue
			}
			out = append(out, tool.HeaderSecrets(v)...)
		}
	}
	address := func(t Text) { out = append(out, tool.AddressSecrets(e.text(t), looksSecret)...) }
	for _, s := range c.MCP.Servers {
		environment(s.Env)
		headers(s.Headers, true)
		address(s.URL)
	}
	for _, h := range c.Tools.Hooks {
		environment(h.Env)
		headers(h.Headers, true)
		address(h.URL)
	}
	for _, p := range c.Models.Providers {
		value(p.APIKey)
		headers(p.Headers, false)
		address(p.BaseURL)
	}
	for _, k := range c.Serve.Keys {
		value(k.Key)
	}
	headers(c.Telemetry.Headers, false)
	address(c.Telemetry.Endpoint)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}

// longValue is the length in bytes from which on a value is taken for a secret
// whatever it is called.
const longValue = 20

// looksSecret judges a value by its name and its length.
func looksSecret(name, value string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"key", "token", "secret", "sig", "pass", "pwd", "auth", "cookie", "cred", "session"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(value) >= longValue
}
