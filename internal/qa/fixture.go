package qa

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// perPlugin is how many tools one fake plugin has: a manifest is bounded.
const perPlugin = 600

// fixture is what the lanes share: the installed plugins with their fake tools.
type fixture struct {
	opt   Options
	names []string
}

// Names of the fake world.
const (
	targetName = "fake_forecast_tide"
	alwaysName = "fake_always_shown" // direct-only
	marker     = "high water at 04:12"
	targetArgs = `{"place":"Tromsø"}`
)

func newFixture(o Options) *fixture {
	f := &fixture{opt: o, names: make([]string, o.Tools)}
	for i := range f.names {
		verb, thing := verbs[i%len(verbs)], things[i/len(verbs)%len(things)]
		f.names[i] = fmt.Sprintf("fake_%s_%s_%d", verb, thing, i)
	}
	f.names[o.Tools/2] = targetName
	return f
}

var (
	verbs  = [...]string{"list", "create", "update", "archive", "export", "merge", "check", "share"}
	things = [...]string{"invoice", "ticket", "contact", "pipeline", "report", "branch", "calendar", "playlist", "shipment", "contract", "sensor"}
)

func (f *fixture) targetID() string {
	return string(tool.NewID(tool.OpenClaw, f.pluginOf(f.opt.Tools/2), targetName))
}

func (f *fixture) pluginOf(i int) string { return fmt.Sprintf("fake%d", i/perPlugin+1) }

// message is the request that goes through every lane.
func (f *fixture) message() string {
	return fmt.Sprintf(`When is high water? target=%s args=%s query="forecast the tide at a place" query="list the invoices of a customer"`, targetName, targetArgs)
}

// manifest is a plugin's file, as far as it is needed here.
type manifest struct {
	ID    string       `json:"id"`
	Start start        `json:"start"`
	Tools []definition `json:"tools"`
}

type start struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type definition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  schema `json:"parameters"`
	CatalogMode string `json:"catalogMode,omitempty"`
}

type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

type property struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// define makes the definition of tool i.
func (f *fixture) define(i int) definition {
	name := f.names[i]
	if name == targetName {
		return definition{
			Name: name, Description: "Forecast the tide: when high and low water come at a place.",
			Parameters: schema{Type: "object", Required: []string{"place"}, Properties: map[string]property{
				"place": {"string", "The name of a harbour or town"},
			}},
		}
	}
	words := strings.Split(name, "_")
	return definition{
		Name: name, Description: fmt.Sprintf("Fake tool %d: %s a %s of the workspace, by its number.", i, words[1], words[2]),
		Parameters: schema{Type: "object", Required: []string{words[2] + "_id"}, Properties: map[string]property{
			words[2] + "_id": {"string", fmt.Sprintf("The number of the %s, such as %c-%d", words[2], 'A'+rune(i%26), 1000+i)},
			"note":           {"string", "What to write into the log of the workspace"},
			"dry_run":        {"boolean", "Only say what would happen"},
		}},
	}
}

// write installs the plugins.
func (f *fixture) write() error {
	for first := 0; first < len(f.names); first += perPlugin {
		id := f.pluginOf(first)
		m := manifest{ID: id, Start: start{Command: f.opt.Executable, Args: []string{"qa", "plugin", "plugin.json5"}}}
		for i := first; i < min(first+perPlugin, len(f.names)); i++ {
			m.Tools = append(m.Tools, f.define(i))
		}
		if first == 0 {
			m.Tools = append(m.Tools, definition{
				Name: alwaysName, Description: "A fake tool that the model always sees.", CatalogMode: "direct-only",
				Parameters: schema{Type: "object", Properties: map[string]property{}},
			})
		}
		raw, err := tool.Encode(m)
		if err != nil {
			return err
		}
		dir := filepath.Join(f.opt.Dir, "data", "toolsearch", "plugins", id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "plugin.json5"), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Settings are the configuration of a lane. A test changes them to break it.
type Settings struct {
	Tools  toolSettings  `json:"tools"`
	Models modelSettings `json:"models"`
}

type toolSettings struct {
	ToolSearch any      `json:"toolSearch"` // false, or an object with the mode
	Core       bool     `json:"core"`
	Deny       []string `json:"deny,omitempty"`
}

type modelSettings struct {
	Default   string                      `json:"default"`
	Providers map[string]providerSettings `json:"providers"`
}

type providerSettings struct {
	BaseURL string       `json:"baseUrl"`
	API     string       `json:"api"`
	Models  []modelEntry `json:"models"`
}

type modelEntry struct {
	ID            string `json:"id"`
	ContextWindow int    `json:"contextWindow"`
}

// Mode is the value of tools.toolSearch for a mode.
type Mode struct {
	Mode string `json:"mode"`
}

func (f *fixture) settings(lane Lane, baseURL string) *Settings {
	s := &Settings{}
	s.Tools.ToolSearch = Mode{Mode: string(lane)}
	if lane == Direct {
		s.Tools.ToolSearch = false
	}
	s.Models.Default = "mock/mock"
	s.Models.Providers = map[string]providerSettings{"mock": {
		BaseURL: baseURL, API: "openai-completions", Models: []modelEntry{{ID: "mock", ContextWindow: 200_000}},
	}}
	return s
}
