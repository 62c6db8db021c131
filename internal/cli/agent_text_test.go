package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// What a model says is shown without what would steer the terminal or change the
// order of its text; what scripts and emoji need stays.
func TestAgentShowsNoHiddenText(t *testing.T) {
	model := mock.New(mock.Script{Steps: []mock.Step{mock.Text("a\x1b]0;title\x07b \u202egnp.exe\u202c \u2066c\u2069 \U000E0041\u009b31m \U0001F469\u200D\U0001F680")}})
	base, stop, err := model.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	home := t.TempDir()
	file := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(file, []byte(`{models: {default: "m/m", providers: {m: {baseUrl: "`+base+`", api: "openai-completions", models: [{id: "m"}]}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "agent", "--config", file, "hi")
	cmd.Env, cmd.Dir = env(home), home
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "a]0;titleb gnp.exe c 31m \U0001F469\u200D\U0001F680\n"; string(out) != want {
		t.Errorf("it shows %q, want %q", out, want)
	}
}
