package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/openai"
	"github.com/toolsearch/toolsearch/tool"
)

// Model is a model of the configuration.
type Model struct {
	config.Model
	Provider *config.Provider
}

// Ref is how a client names it.
func (m Model) Ref() string { return m.Provider.Name + "/" + m.ID }

// ConfigError says which variable a provider lacks: to the operator, and not to
// clients, who are told the Refusal.
type ConfigError struct {
	Refusal *provider.Error
	Err     error
}

// Error is for the operator.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns what a client is told.
func (e *ConfigError) Unwrap() error { return e.Refusal }

// Format returns the wire format of an API, nil for one that is not spoken.
func Format(a provider.API) provider.Format {
	switch a {
	case provider.Chat:
		return openai.Chat()
	case provider.Responses:
		return openai.Responses()
	case provider.Messages:
		return anthropic.Messages()
	}
	return nil
}

// Models lists the models of the configuration, in its order.
func (r *Runtime) Models() []Model {
	var out []Model
	for i := range r.opt.Config.Models.Providers {
		p := &r.opt.Config.Models.Providers[i]
		for _, m := range p.Models {
			if m.API != "" {
				out = append(out, Model{m, p})
			}
		}
	}
	return out
}

// Model finds the model that a request means: "provider/model", an alias, or a
// bare id that one provider has. "" is the agent's model, else the default one,
// else the only one there is.
func (r *Runtime) Model(ref, agent string) (Model, error) {
	cfg := r.opt.Config
	if ref == "" {
		if a, ok := cfg.Agent(agent); ok {
			ref = a.Model.Ref
		}
	}
	if ref == "" {
		ref = cfg.Models.Default.Ref
	}
	if ref == "" {
		if all := r.Models(); len(all) == 1 {
			return all[0], nil
		}
		return Model{}, refuse(http.StatusBadRequest, "model", "the request names no model, and the configuration no default one; set models.default")
	}
	for _, a := range cfg.Models.Aliases {
		if a.Name == ref {
			ref = a.Of.Ref
			break
		}
	}
	return r.find(ref)
}

// find finds a model by provider and id, or by its id alone.
func (r *Runtime) find(ref string) (Model, error) {
	var prefix *config.Provider // the provider that ref begins with
	var listed, open []Model    // of providers with a list of models, and without
	name, id, slash := strings.Cut(ref, "/")
	for i := range r.opt.Config.Models.Providers {
		p := &r.opt.Config.Models.Providers[i]
		if slash && p.Name == name {
			if m, ok := modelOf(p, id); ok {
				return m, nil
			}
			prefix = p
		}
		if m, ok := modelOf(p, ref); ok && len(p.Models) > 0 {
			listed = append(listed, m)
		} else if ok {
			open = append(open, m)
		}
	}
	fits := listed
	// A provider without a list takes any id, but not what names another one.
	if len(fits) == 0 && prefix == nil {
		fits = open
	}
	shown := tool.Clean(ref, 200)
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(listed) > 1:
		return Model{}, refuse(http.StatusBadRequest, "model", fmt.Sprintf("several providers have a model %q; name it as %s or %s", shown, listed[0].Ref(), listed[1].Ref()))
	}
	e := refuse(http.StatusNotFound, "model", fmt.Sprintf("no model is called %q; there is %s", shown, r.someModels()))
	e.Code = "model_not_found"
	return Model{}, e
}

// someModels lists the first models, for an error.
func (r *Runtime) someModels() string {
	const most = 10
	var names []string
	for i, m := range r.Models() {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, m.Ref())
	}
	for _, p := range r.opt.Config.Models.Providers {
		if len(p.Models) == 0 && len(names) < most {
			names = append(names, p.Name+"/ with any id")
		}
	}
	if len(names) == 0 {
		return "none: models.providers is empty"
	}
	return strings.Join(names, ", ")
}

// modelOf finds a model of a provider by its id. A provider without a list has
// every model.
func modelOf(p *config.Provider, id string) (Model, bool) {
	for _, m := range p.Models {
		if m.ID == id {
			return Model{m, p}, m.API != ""
		}
	}
	return Model{config.Model{ID: id, API: p.API, NativeToolSearch: p.NativeToolSearch}, p}, len(p.Models) == 0 && p.API != "" && id != ""
}

// clientKey names a client: models of one provider may speak different formats.
type clientKey struct {
	provider string
	api      provider.API
}

// client returns the client of a model's API.
func (r *Runtime) client(m Model) (provider.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := clientKey{m.Provider.Name, m.API}
	if c, ok := r.clients.Get(key); ok {
		return c, nil
	}
	// Variables are resolved now, and not when the configuration was read.
	resolved, err := m.Provider.Resolve(r.opt.Lookup)
	if err != nil {
		e := refuse(http.StatusBadGateway, "model", fmt.Sprintf("the provider %q is not configured completely; the server's log says what is missing", m.Provider.Name))
		e.Type = "api_error"
		return nil, &ConfigError{Refusal: e, Err: err}
	}
	headers := http.Header{}
	for _, h := range resolved.Headers {
		headers.Set(h.Name, h.Value)
	}
	c, err := provider.NewClient(provider.ClientConfig{
		Format: Format(m.API), BaseURL: resolved.BaseURL, HTTP: r.opt.HTTP, Headers: headers, Retry: r.opt.Retry,
		Key: func(context.Context) (string, error) { return resolved.APIKey, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", m.Provider.Name, err)
	}
	r.clients.Add(key, c)
	return c, nil
}
