package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pluginsChild makes the test binary run "plugins add" at a terminal.
const pluginsChild = "TOOLSEARCH_TEST_PLUGINS_CHILD"

// TestPluginsChild is that process.
func TestPluginsChild(t *testing.T) {
	from := os.Getenv(pluginsChild)
	if from == "" {
		t.Skip("runs as a child of other tests")
	}
	std := newStreams(os.Stdin, os.Stdout, os.Stderr)
	if err := addPlugin(t.Context(), &app{std: std}, pluginAdd{from: from}); err != nil {
		printError(std, err)
		os.Exit(exitCode(err))
	}
}

// At a terminal a person is asked; only a clear yes installs, and nothing typed
// before the question is an answer.
func TestPluginsAddAtTheTerminal(t *testing.T) {
	for typed, want := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "n\n": false, "yellow\n": false, "\x04": false} {
		t.Run(strings.TrimSpace(typed), func(t *testing.T) {
			home := t.TempDir()
			far, near := openTerminal(t)
			var out bytes.Buffer
			cmd := exec.Command(os.Args[0], "-test.run=^TestPluginsChild$")
			cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+home, pluginsChild+"="+pluginFolder(t, "{id: 'good', hooks: {before_tool_call: [{command: 'sh'}]}}"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = near, &out, near
			if _, err := far.WriteString("y\n"); err != nil { // typed ahead
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = near.Close() // the child has it
			readUntil(t, far, "[y/N]")
			if _, err := far.WriteString(typed); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			_, statErr := os.Stat(filepath.Join(home, "toolsearch", "plugins", "good"))
			if (err == nil) != want || (statErr == nil) != want {
				t.Errorf("it ends with %v and the folder: %v; want installed: %v", err, statErr, want)
			}
			if !want && cmd.ProcessState.ExitCode() != ExitRefused {
				t.Errorf("it ends with %d, want %d", cmd.ProcessState.ExitCode(), ExitRefused)
			}
			entries, err := os.ReadDir(filepath.Join(home, "toolsearch", "plugins"))
			if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "good" {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
