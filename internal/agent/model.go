package agent

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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
	if name, id, ok := strings.Cut(ref, "/"); ok {
		for i := range cfg.Models.Providers {
			if p := &cfg.Models.Providers[i]; p.Name == name {
				if m, ok := modelOf(p, id); ok {
					return m, nil
				}
			}
		}
	}
	var fits []Model
	for i := range cfg.Models.Providers {
		if m, ok := modelOf(&cfg.Models.Providers[i], ref); ok {
			fits = append(fits, m)
		}
	}
	// A provider that lists no models takes any id, but one that is listed wins.
	if listed := slices.DeleteFunc(slices.Clone(fits), func(m Model) bool { return len(m.Provider.Models) == 0 }); len(listed) > 0 {
		fits = listed
	}
	shown := tool.Clean(ref, 200)
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		e := refuse(http.StatusNotFound, "model", fmt.Sprintf("no model is called %q; there is %s", shown, r.someModels()))
		e.Code = "model_not_found"
		return Model{}, e
	}
	return Model{}, refuse(http.StatusBadRequest, "model", fmt.Sprintf("several providers have a model %q; name it as %s or %s", shown, fits[0].Ref(), fits[1].Ref()))
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
	if len(names) == 0 {
		return "none in the list of any of models.providers"
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
		r.opt.Logger.Error("a model API cannot be asked", "error", err)
		e := refuse(http.StatusBadGateway, "model", fmt.Sprintf("the provider %q is not configured completely; the server's log says what is missing", m.Provider.Name))
		e.Type = "api_error"
		return nil, e
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
