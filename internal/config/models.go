package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/internal/variables"
	"github.com/toolsearch/toolsearch/provider"
)

// Models is the section models, with what the section agents says of them.
type Models struct {
	Providers []Provider // in the file's order
	Aliases   []Alias    // in the file's order; no two have one name
	Default   ModelRef   // models.default, else agents.defaults.model
}

// ModelRef names a model as "provider/model", or by an alias. Ref is "" when
// the file names none.
type ModelRef struct {
	Ref string
	Pos Pos
	Key string // such as models.default
}

// Alias is another name of a model.
type Alias struct {
	Name string
	Of   ModelRef
}

// Provider is one entry of models.providers. Texts may hold references to
// variables; Resolve expands them.
type Provider struct {
	Name    string // without "/"
	Pos     Pos
	BaseURL Text
	APIKey  Text // Raw is "" when the API wants none
	// API is "" when the file names one that is not spoken here: a warning says
	// so, and the provider is not used.
	API              provider.API
	Headers          []NamedText
	NativeToolSearch bool
	Models           []Model // empty: any id is passed on
}

// Model is one model of a provider.
type Model struct {
	ID, Name         string // Name is for people, may be ""
	Pos              Pos
	API              provider.API // of the provider, unless the model has its own
	ContextWindow    int          // tokens; 0 when not said
	MaxTokens        int          // of an answer; 0 when not said
	NativeToolSearch bool
}

// Bounds of what is said of a model.
const (
	maxContext     = 100_000_000 // tokens
	maxModelID     = 256         // bytes
	maxModels      = 1000        // of one provider, and aliases
	defaultKeyHint = `write a reference such as "${OPENAI_API_KEY}"`
)

// ours are the formats that are spoken; elsewhere are those of openclaw.json
// files that are not.
func apis() (ours, elsewhere []string) {
	return []string{string(provider.Chat), string(provider.Responses), string(provider.Messages)},
		[]string{"openai-codex-responses", "google-generative-ai", "github-copilot", "bedrock-converse-stream", "ollama", "azure-openai-responses"}
}

// api is the field that names a wire format.
func api[T any](doc string, of func(*T) *provider.API) field[T] {
	ours, elsewhere := apis()
	f := row{Key: "api", Type: "string", Bounds: "`" + strings.Join(ours, "`, `") + "`", Doc: doc}
	return field[T]{f, func(r *reader, s spot, into *T) {
		for _, other := range elsewhere {
			if s.node.Kind == json5.String && s.node.Str() == other {
				r.warn(r.at(s), s.path, clip(other)+" is not spoken here; what has it is not used")
				return
			}
		}
		if v, ok := r.oneOf(s, ours); ok {
			*of(into) = provider.API(v)
		}
	}}
}

func modelsSection() section[Models] {
	return section[Models]{
		path:  "models",
		intro: "The models behind `toolsearch serve` and `toolsearch agent`. An `openclaw.json` that names its default model under `agents.defaults.model`, or aliases under `agents.defaults.models`, is read as well.",
		fields: []field[Models]{
			{row{Key: "providers", Type: "object", Doc: "Model APIs by name. A name has no `/`."}, readProviders},
			{row{Key: "default", Type: "string", Doc: "The model of `toolsearch agent` without `--model`, and of requests for the model `default`; as `provider/model` or by an alias."},
				func(r *reader, s spot, m *Models) { m.Default = r.modelRef(s) }},
			{row{Key: "aliases", Type: "object of strings", Doc: "Other names: `aliases: {fast: \"openai/gpt-5-mini\"}`."},
				func(r *reader, s spot, m *Models) {
					r.each(s, func(name string, s spot, _ Pos) {
						if ref := r.modelRef(s); ref.Ref != "" {
							m.alias(r, s, Alias{Name: name, Of: ref})
						}
					})
				}},
		},
		foreign: []string{"mode", "bedrockDiscovery", "pricing"},
	}
}

// alias adds one. The first of a name wins: ours is read before an openclaw.json's.
func (m *Models) alias(r *reader, s spot, a Alias) {
	if len(m.Aliases) >= maxModels {
		r.warn(r.at(s), s.path, fmt.Sprintf("only %d aliases are read", maxModels))
		return
	}
	for _, b := range m.Aliases {
		if b.Name == a.Name {
			return
		}
	}
	m.Aliases = append(m.Aliases, a)
}

func providerSection() section[providerBlock] {
	return section[providerBlock]{
		path: "models.providers.<name>",
		intro: "One model API. `${VAR}` and `${VAR:-default}` are allowed in `baseUrl`, `apiKey` and `headers`; they are resolved when the API is first needed, and never written back. " +
			"Each of its models is called `name/id`.",
		fields: []field[providerBlock]{
			{row{Key: "baseUrl", Type: "string", Doc: "Its address, as the vendor prints it: `https://api.openai.com/v1`, `https://api.anthropic.com`. Required."},
				func(r *reader, s spot, p *providerBlock) { p.BaseURL, _ = r.reference(s) }},
			{row{Key: "apiKey", Type: "string", Doc: "The key, by reference: `\"${OPENAI_API_KEY}\"`. Absent: none is sent."},
				func(r *reader, s spot, p *providerBlock) { p.APIKey = r.secret(s) }},
			api("The wire format it speaks. Required.", func(p *providerBlock) *provider.API { return &p.API }),
			{row{Key: "headers", Type: "object of strings", Doc: "HTTP headers sent with every request."},
				func(r *reader, s spot, p *providerBlock) { p.Headers = r.references(s, badHeaderName) }},
			flag(row{Key: "nativeToolSearch", Default: "`false`", Doc: "The API searches tools itself: its models get the tools, deferred where the API knows that, and none of our controls."},
				func(p *providerBlock, v bool) { p.NativeToolSearch = v }),
			{row{Key: "models", Type: "array of objects", Doc: "Its models. Absent or empty: any id is passed on. See `models.providers.<name>.models[]` below."}, readModels},
		},
		foreign: []string{"auth", "authHeader", "request", "injectNumCtxForOpenAICompat", "contextWindow", "contextTokens", "maxTokens", "timeoutSeconds", "params", "localService"},
		moved:   map[string]string{"baseURL": "write baseUrl", "url": "write baseUrl", "key": "write apiKey", "type": "write api"},
	}
}

// providerBlock and modelBlock are a provider and a model as written.
type (
	providerBlock struct {
		Provider
		models []modelBlock
	}
	modelBlock struct {
		Model
		native *bool
	}
)

func modelSection() section[modelBlock] {
	tokens := func(key, doc string, of func(*Model) *int) field[modelBlock] {
		return number(row{Key: key, Doc: doc}, 1, maxContext, func(m *modelBlock, v int64, _ Pos) { *of(&m.Model) = int(v) })
	}
	return section[modelBlock]{
		path:  "models.providers.<name>.models[]",
		intro: "One model.",
		fields: []field[modelBlock]{
			{row{Key: "id", Type: "string", Bounds: fmt.Sprintf("1–%d bytes", maxModelID), Doc: "The model's id at its API. Required."},
				func(r *reader, s spot, m *modelBlock) {
					if v, ok := r.text(s); ok && badModelID(v) {
						r.fault(r.at(s), s.path, "no id of a model", fmt.Sprintf("an id has 1–%d bytes, no spaces and no control characters", maxModelID))
					} else if ok {
						m.ID = v
					}
				}},
			{row{Key: "name", Type: "string", Doc: "Its name for people."}, func(r *reader, s spot, m *modelBlock) { m.Name, _ = r.text(s) }},
			api("The format of this model, where it is another than the provider's.", func(m *modelBlock) *provider.API { return &m.API }),
			tokens("contextWindow", "How many tokens it reads. The listing of `directory` mode takes at most a tenth.", func(m *Model) *int { return &m.ContextWindow }),
			tokens("maxTokens", "How many tokens it answers with at most.", func(m *Model) *int { return &m.MaxTokens }),
			flag(row{Key: "nativeToolSearch", Default: "the provider's", Doc: "As for the provider."}, func(m *modelBlock, v bool) { m.native = &v }),
		},
		foreign: []string{"reasoning", "input", "cost", "compat", "headers", "params", "contextTokens", "metadataSource", "agentRuntime", "baseUrl"},
	}
}

func badModelID(id string) bool {
	return id == "" || len(id) > maxModelID || strings.IndexFunc(id, func(c rune) bool { return c <= ' ' || c == 0x7F }) >= 0
}

func readProviders(r *reader, s spot, into *Models) {
	r.each(s, func(name string, s spot, pos Pos) {
		p := providerBlock{Provider: Provider{Name: name, Pos: pos}}
		if strings.Contains(name, "/") {
			r.fault(pos, s.path, "a provider's name may not hold '/'", "models are called provider/model")
			return
		}
		before := len(r.errs)
		sec := providerSection()
		sec.read(r, s, &p)
		if s.node.Kind != json5.Object || len(r.errs) > before {
			return // its key may be the misspelt one
		}
		r.checkProvider(s, &p)
		into.Providers = append(into.Providers, p.Provider)
	})
}

// checkProvider checks what is between the keys of a provider.
func (r *reader) checkProvider(s spot, p *providerBlock) {
	address := s.node.Member("baseUrl")
	everyOwn := len(p.models) > 0
	for _, m := range p.models {
		everyOwn = everyOwn && m.API != ""
		if m.API == "" {
			m.API = p.API
		}
		m.NativeToolSearch = p.NativeToolSearch
		if m.native != nil {
			m.NativeToolSearch = *m.native
		}
		p.Models = append(p.Models, m.Model)
	}
	ours, _ := apis()
	switch {
	case address == nil:
		r.fault(p.Pos, s.path, "has no baseUrl", `such as baseUrl: "https://api.openai.com/v1"`)
	case !strings.Contains(p.BaseURL.Raw, "${") && badURL(p.BaseURL.Raw) != "":
		r.fault(p.BaseURL.Pos, s.path.Child("baseUrl"), badURL(p.BaseURL.Raw), "")
	case s.node.Member("api") == nil && !everyOwn:
		r.fault(p.Pos, s.path, "has no api", "give api: one of "+strings.Join(ours, ", "))
	}
}

func readModels(r *reader, s spot, p *providerBlock) {
	var blocks []modelBlock
	r.elems(s, maxModels, func(e spot) {
		b := modelBlock{Model: Model{Pos: r.at(e)}}
		before := len(r.errs)
		sec := modelSection()
		sec.read(r, e, &b)
		if e.node.Kind != json5.Object || len(r.errs) > before {
			return
		}
		if b.ID == "" {
			r.fault(b.Pos, e.path, "has no id", `such as id: "gpt-5"`)
			return
		}
		for _, o := range blocks {
			if o.ID == b.ID {
				r.fault(b.Pos, e.path, fmt.Sprintf("the model %s stands twice, first at %d:%d", clip(b.ID), o.Pos.Line, o.Pos.Column), "remove one of them")
				return
			}
		}
		blocks = append(blocks, b)
	})
	p.models = blocks
}

// secret reads a key. An openclaw.json may also name a variable as an object.
func (r *reader) secret(s spot) Text {
	if s.node.Kind == json5.Object {
		source, id := s.node.Member("source"), s.node.Member("id")
		if source != nil && source.Kind == json5.String && source.Str() == "env" && id != nil && id.Kind == json5.String && variables.ValidName(id.Str()) {
			return Text{Raw: "${" + id.Str() + "}", Pos: r.at(s), Key: s.path.String()}
		}
		r.fault(r.at(s), s.path, "only a variable of the environment can be named here", defaultKeyHint)
		return Text{}
	}
	t, ok := r.reference(s)
	if ok && t.Raw != "" && !strings.Contains(t.Raw, "${") {
		r.warn(t.Pos, s.path, "the key itself stands in the file; "+defaultKeyHint)
	}
	return t
}

// modelRef reads the name of a model. What it names is checked once all
// providers are known.
func (r *reader) modelRef(s spot) ModelRef {
	v, ok := r.text(s)
	if !ok {
		return ModelRef{}
	}
	if badModelID(v) {
		r.fault(r.at(s), s.path, "expected the name of a model", `such as "openai/gpt-5"`)
		return ModelRef{}
	}
	return ModelRef{Ref: v, Pos: r.at(s), Key: s.path.String()}
}

// agentModel reads the model of an agent: a name, or an object with the name
// under primary.
func (r *reader) agentModel(s spot) ModelRef {
	if s.node.Kind != json5.Object {
		return r.modelRef(s)
	}
	for _, m := range s.node.Members {
		if m.Key == "primary" {
			return r.modelRef(s.member(m))
		}
	}
	return ModelRef{}
}

// defaultsSection is what is ours of agents.defaults.
func defaultsSection() section[Models] {
	return section[Models]{stance: quiet, fields: []field[Models]{
		{row{Key: "model"}, func(r *reader, s spot, m *Models) { m.Default = r.agentModel(s) }},
		{row{Key: "models"}, func(r *reader, s spot, m *Models) {
			r.each(s, func(ref string, s spot, pos Pos) {
				if alias := s.node.Member("alias"); s.node.Kind == json5.Object && alias != nil && alias.Kind == json5.String && badName(alias.Str()) == "" {
					m.alias(r, s, Alias{Name: alias.Str(), Of: ModelRef{Ref: ref, Pos: pos, Key: s.path.String()}})
				}
			})
		}},
	}}
}

// settleModels joins the section models with what agents.defaults says, and
// checks the names of ours: an openclaw.json may name models that only it knows.
func (r *reader) settleModels(own, defaults Models) Models {
	known := func(ref ModelRef) bool {
		name, id, slash := strings.Cut(ref.Ref, "/")
		for _, p := range own.Providers {
			if p.Name == name && slash && id != "" && (len(p.Models) == 0 || p.has(id)) {
				return true
			}
		}
		return false
	}
	aliases := map[string]bool{}
	for _, a := range own.Aliases {
		aliases[a.Name] = true
		if !known(a.Of) {
			r.errs = append(r.errs, unknownModel(a.Of))
		}
	}
	for _, a := range defaults.Aliases {
		if !aliases[a.Name] && known(a.Of) {
			own.Aliases = append(own.Aliases, a)
			aliases[a.Name] = true
		}
	}
	if d := own.Default; d.Ref != "" && !aliases[d.Ref] && !known(d) {
		r.errs = append(r.errs, unknownModel(d))
	}
	if own.Default.Ref == "" {
		own.Default = defaults.Default
	}
	return own
}

func (p *Provider) has(id string) bool {
	for _, m := range p.Models {
		if m.ID == id {
			return true
		}
	}
	return false
}

func unknownModel(ref ModelRef) *Error {
	return &Error{Pos: ref.Pos, Key: ref.Key, Problem: "names no configured model: " + clip(ref.Ref), Hint: `write "provider/model" of models.providers`}
}

// ResolvedProvider is a model API with its variables filled in. It holds
// secrets. It prints as the provider's name alone.
type ResolvedProvider struct {
	Name    string
	BaseURL string
	APIKey  string
	Headers []Var
}

// String names the provider and nothing of what it holds.
func (v ResolvedProvider) String() string { return fmt.Sprintf("provider %q", v.Name) }

// GoString is String.
func (v ResolvedProvider) GoString() string { return v.String() }

// LogValue is String.
func (v ResolvedProvider) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Resolve fills in the variables of a provider, as Server.Resolve does.
func (p *Provider) Resolve(lookup func(string) (string, bool)) (ResolvedProvider, error) {
	e := &expander{lookup: lookup}
	v := ResolvedProvider{Name: p.Name, BaseURL: e.text(p.BaseURL), APIKey: e.text(p.APIKey)}
	v.Headers = e.named(p.Headers, "\r\n\x00", "a header may not hold a line end")
	if len(e.errs) == 0 {
		if problem := badURL(v.BaseURL); problem != "" {
			e.fail(p.BaseURL, problem+" once its variables are filled in", "")
		}
		if strings.ContainsAny(v.APIKey, "\r\n\x00") {
			e.fail(p.APIKey, "a key may not hold a line end", "")
		}
	}
	if len(e.errs) > 0 {
		return ResolvedProvider{}, fmt.Errorf("resolve the variables of provider %q: %w", p.Name, errors.Join(e.errs...))
	}
	return v, nil
}
