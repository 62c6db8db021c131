package qa_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/qa"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// program builds the real program.
func program(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "toolsearch")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", out, "github.com/toolsearch/toolsearch/cmd/toolsearch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // a cgo build has no code mode
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, said)
	}
	return out
}

// broken lists the numbers of the claims that do not hold.
func broken(r *qa.Report) []int {
	var out []int
	for _, c := range r.Checks {
		if !c.OK {
			out = append(out, c.Number)
		}
	}
	return out
}

func TestScenario(t *testing.T) {
	executable := program(t)
	for _, n := range []int{36, 1000, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n > 36 && testing.Short() {
				t.Skip("many tools take a while")
			}
			r, err := qa.Run(t.Context(), qa.Options{Executable: executable, Tools: n, Dir: t.TempDir(), Logf: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			if !r.OK || len(r.Checks) != 7 {
				t.Errorf("the claims are %+v", r.Checks)
			}
			for _, e := range r.Lanes {
				t.Logf("%s: %d bytes", e.Lane, e.Bytes)
			}
		})
	}
}

// Each claim fails when what it claims is broken.
func TestScenarioFindsWhatIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twelve gateways")
	}
	executable := program(t)
	agent := mock.Agent().Choose
	tests := []struct {
		name     string
		settings func(qa.Lane, *qa.Settings)
		model    func(x *mock.Exchange) mock.Step
		want     []int // these fail, whatever else does
	}{
		{
			name: "the target is denied in direct and in tools",
			settings: func(l qa.Lane, s *qa.Settings) {
				if l == qa.Direct || l == qa.Tools {
					s.Tools.Deny = []string{"fake_forecast_tide"}
				}
			},
			want: []int{1, 2, 3, 6},
		},
		{
			name: "direct searches, and tools exposes everything",
			settings: func(l qa.Lane, s *qa.Settings) {
				switch l {
				case qa.Direct:
					s.Tools.ToolSearch = qa.Mode{Mode: "tools"}
				case qa.Tools:
					s.Tools.ToolSearch = false
				}
			},
			want: []int{3, 4, 5, 6, 7},
		},
		{
			name: "the model searches once more, and one by one",
			model: func(x *mock.Exchange) mock.Step {
				step := agent(x)
				for i, c := range step.Calls {
					if c.Name == "tool_search" {
						step.Calls[i].Args = json.RawMessage(`{"query":"forecast the tide at a place"}`)
					}
				}
				if len(step.Calls) == 1 && step.Calls[0].Name == "tool_call" && !asked(x, "more") {
					return mock.Step{Calls: []provider.Call{{ID: "more", Name: "tool_search", Args: json.RawMessage(`{"query":"tide"}`)}, {ID: "again", Name: "tool_search", Args: json.RawMessage(`{"query":"forecast tide"}`)}}}
				}
				return step
			},
			want: []int{6, 7},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := qa.Run(t.Context(), qa.Options{
				Executable: executable, Dir: t.TempDir(), Settings: tt.settings, Model: mock.Script{Choose: tt.model},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := broken(r); r.OK || slices.ContainsFunc(tt.want, func(n int) bool { return !slices.Contains(got, n) }) {
				t.Errorf("the claims %v fail, want %v: %+v", got, tt.want, r.Checks)
			}
		})
	}
}

// asked reports whether the conversation has a call of that id.
func asked(x *mock.Exchange, id string) bool {
	return slices.ContainsFunc(x.Request.Messages, func(m provider.Message) bool {
		return slices.ContainsFunc(m.Blocks, func(b provider.Block) bool { return b.Kind == provider.ToolCall && b.Call.ID == id })
	})
}

// A gateway that does not start is an error that repeats what it said.
func TestScenarioWithoutAGateway(t *testing.T) {
	_, err := qa.Run(t.Context(), qa.Options{Executable: program(t), Dir: t.TempDir(), Settings: func(_ qa.Lane, s *qa.Settings) {
		s.Tools.Deny = []string{""}
		s.Models.Default = "nobody/nothing"
	}})
	if err == nil || !strings.Contains(err.Error(), "nobody/nothing") {
		t.Errorf("got %v", err)
	}
}
