//go:build linux && !cgo

package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// A client of the gateway cannot tell a tool that is denied from one that is not
// there, in any mode: every answer, error, count and list is the same, byte for
// byte. Of two gateways under one policy, only one has the tools that it denies.
func TestGatewayDeniedIsAsIfItWereNotThere(t *testing.T) {
	const rules = `deny:["mcp:weather:vault","mcp:bank","mcp:broken","exec"]`
	echo, vault := toolDef("echo", "Weather forecast"), toolDef("vault", "Opens the vault")
	visible := json.RawMessage(`{"name":"vault","description":"Opens the vault","inputSchema":{"type":"object"},"_meta":{"anthropic/alwaysLoad":true}}`)
	for _, mode := range []string{`"tools"`, `"directory"`, `"code"`, `"auto"`, `off`} {
		t.Run(strings.Trim(mode, `"`), func(t *testing.T) {
			search := `toolSearch:{mode:` + mode + `}`
			if mode == "off" {
				search = `toolSearch:false`
			}
			open := func(servers string) *gateway {
				g := startGateway(t, t.TempDir(), `{tools:{`+search+`,`+rules+`}, mcp:{servers:{`+servers+`}}}`)
				g.connect(false)
				return g
			}
			shown := vault
			if mode == `"tools"` {
				shown = visible
			}
			with := open(serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{shown, echo}}) + `,` +
				serverConfig(t, "bank", mcptest.Script{Tools: []json.RawMessage{toolDef("transfer", "Moves money")}}) + `,broken:{command:"no-such-program-anywhere"}`)
			without := open(serverConfig(t, "weather", mcptest.Script{Tools: []json.RawMessage{echo}}))
			same := func(method, params string) {
				t.Helper()
				if a, b := with.answer(method, params), without.answer(method, params); a != b {
					t.Errorf("%s %s\nwhere it is denied: %s\nwhere it is not there: %s", method, params, a, b)
				}
			}
			same("tools/list", `{}`)
			for _, ref := range []string{"mcp:weather:vault", "vault", "vualt", "weather__vault", "mcp:bank:transfer", "transfer", "bank__transfer", "mcp:broken:x", "exec", "bash", "money"} {
				same("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"x":1}}`, ref))
				for _, control := range []string{
					`{"name":"tool_search","arguments":{"query":%q}}`, `{"name":"tool_search","arguments":{"queries":[%q]}}`,
					`{"name":"tool_describe","arguments":{"id":%q}}`, `{"name":"tool_call","arguments":{"id":%q,"args":{}}}`,
				} {
					same("tools/call", fmt.Sprintf(control, ref))
				}
				body := fmt.Sprintf(`const out = [];
					for (const ask of [() => openclaw.tools.search(%[1]q), () => openclaw.tools.describe(%[1]q), () => openclaw.tools.call(%[1]q, {})])
						try { out.push(await ask()) } catch (e) { out.push([e.name, e.message, e.code, e.details, Object.keys(e)]) }
					return out`, ref)
				args, err := json.Marshal(map[string]any{"name": "tool_search_code", "arguments": map[string]string{"code": body}})
				if err != nil {
					t.Fatal(err)
				}
				same("tools/call", string(args))
			}
		})
	}
}

// answer is everything that a request is answered with.
func (g *gateway) answer(method, params string) string {
	g.t.Helper()
	m := g.request(method, params)
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	return string(m.Result)
}
