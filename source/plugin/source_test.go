package plugin_test

import (
	"encoding/json"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

func listed(names ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, n := range names {
		out = append(out, json.RawMessage(`{"name":"`+n+`","description":"As the process says.","inputSchema":{"type":"object"}}`))
	}
	return out
}

func TestCallStartsTheProcess(t *testing.T) {
	for _, modern := range []bool{false, true} {
		p := scripted(t, "crm", mcptest.Script{Modern: modern, Tools: listed(mcptest.ToolEcho)}, "", mcptest.ToolEcho)
		s := open(t, plugin.Options{}, p)
		if st := s.Status()[0]; st.State != plugin.Stopped {
			t.Errorf("before a call the process is %s, want %s", st.State, plugin.Stopped)
		}
		res, err := invoke(deadline(t), t, s, mcptest.ToolEcho, `{"n":9007199254740993}`)
		if err != nil {
			t.Fatal(err)
		}
		if string(res.Details) != `{"n":9007199254740993}` {
			t.Errorf("details are %s, want the arguments byte for byte", res.Details)
		}
		if res.Raw != nil {
			t.Errorf("a trusted tool's result carries the protocol's bytes: %s", res.Raw)
		}
		if st := s.Status()[0]; st.State != plugin.Running {
			t.Errorf("after a call the process is %s, want %s", st.State, plugin.Running)
		}
		if got := find(t, s, mcptest.ToolEcho); got.ID != "openclaw:crm:echo" || got.Source != tool.OpenClaw || got.Owner != "crm" {
			t.Errorf("the tool is %s of source %s and owner %s", got.ID, got.Source, got.Owner)
		}
	}
}
