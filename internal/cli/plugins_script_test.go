package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPluginScripts runs the command lines of testdata/plugins/*.txt, with the
// plugins that ship with the product.
func TestPluginScripts(t *testing.T) {
	probe := exec.Command(os.Args[0], "plugins", "--help")
	probe.Env = append(os.Environ(), asProgram+"=1")
	if out, err := probe.CombinedOutput(); err != nil || !strings.Contains(string(out), "plugin.json5") {
		t.Skip("this build of the program has no plugins verb")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("the example plugins need go in PATH: %v", err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"crm", "guard"} { // here, where no timeout runs
		compile := exec.Command("go", "build", "-o", os.DevNull, "main.go")
		compile.Dir = filepath.Join(examples, "plugins", id)
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("compile the example %s: %v\n%s", id, err, out)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/plugins",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Vars = append(e.Vars, "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_CONFIG_HOME="+home+"/config", "XDG_STATE_HOME="+home+"/state",
				"XDG_DATA_HOME="+home+"/data", "GOCACHE="+strings.TrimSpace(string(cache)), "EXAMPLES="+examples, "GORACE=atexit_sleep_ms=0")
			return os.WriteFile(filepath.Join(e.WorkDir, "toolsearch.json5"), []byte("{ tools: { toolSearch: { mode: \"tools\" } } }\n"), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": compareJSON, "exits": exits},
	})
}
