package cli_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// What serve prints can be asked, also where it listens on every address.
func TestServePrintsAnAddressThatAnswers(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for listen, want := range map[string]string{
		"0.0.0.0:0":   `^listening on (http://(?:127\.0\.0\.1|localhost):[0-9]+), and on every other address of this machine\n$`,
		"127.0.0.1:0": `^listening on (http://127\.0\.0\.1:[0-9]+)\n$`,
	} {
		t.Run(listen, func(t *testing.T) {
			home := t.TempDir()
			file := filepath.Join(home, "toolsearch.json5")
			if err := os.WriteFile(file, []byte(`{serve: {keys: [{name: "ci", key: "${CI_KEY}"}]}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd := exec.Command(exe, "serve", "--config", file, "--listen", listen)
			cmd.Env, cmd.Dir, cmd.Stderr = append(env(home), "CI_KEY="+ciKey), home, &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				if err := cmd.Wait(); err != nil {
					t.Errorf("serve ended with %v; stderr:\n%s", err, &stderr)
				}
			})
			line, _ := bufio.NewReader(out).ReadString('\n')
			m := regexp.MustCompile(want).FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("it printed %q, want %s", line, want)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m[1]+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s answered %s", m[1], resp.Status)
			}
		})
	}
}
