package config_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/internal/config"
)

const handWritten = `// Ours.
{
  tools: {
    toolSearch: { mode: 'tools' }, // not code, yet
    deny: ['exec'],
  },
  /* servers */
  mcp: {
    servers: {
      github: { command: 'gh-mcp', env: { TOKEN: '${GH_TOKEN}' } },
    },
  },
}
`

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(file) && !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ key, value, old, new string }{
		{"tools.toolSearch.mode", "directory", "'tools'", "'directory'"}, // a plain string
		{"tools.toolSearch.mode", `"directory"`, "'tools'", "'directory'"},
		{"tools.toolSearch", "true", "{ mode: 'tools' }", "true"},
		{"tools.toolSearch.maxSearchLimit", "30", "'tools' }", "'tools', maxSearchLimit: 30 }"},
		{"tools.profile", "coding", "deny: ['exec'],", "deny: ['exec'],\n    profile: 'coding',"},
		{"tools.deny[1]", "write", "['exec']", "['exec', 'write']"},
		{"mcp.servers.docs", `{url: "https://d.test"}`, "} },\n    },", "} },\n      docs: { url: 'https://d.test' },\n    },"},
		{"mcp.servers.github.env.URL", "${URL:-http://x}", "'${GH_TOKEN}' }", "'${GH_TOKEN}', URL: '${URL:-http://x}' }"},
	} {
		file := write(t, filepath.Join(t.TempDir(), "c.json5"), handWritten)
		change, err := config.Set(t.Context(), file, c.key, c.value)
		if want := strings.Replace(handWritten, c.old, c.new, 1); err != nil || read(t, file) != want {
			t.Errorf("set %s %s: %v\n%s\nwant\n%s", c.key, c.value, err, read(t, file), want)
		}
		if !change.Changed || change.Created {
			t.Errorf("set %s: %+v", c.key, change)
		}
		onlyFile(t, file)
	}
}

// On any error the file is as it was.
func TestSetRefused(t *testing.T) {
	for _, c := range []struct{ key, value, part string }{
		{"tools.toolSearch.mode", "fast", `:4:25: tools.toolSearch.mode: unknown value "fast"`},
		{"tools.toolSearch.mod", "code", "tools.toolSearch.mod: unknown key; did you mean mode?"},
		{"tools.alsoAllow", "['x']", ""},
		{"tools.deny", "exec", "tools.deny: expected an array, found a string"},
		{"mcp.servers.github.url", "https://x", "has both command and url"},
		{"mcp.servers.github", "{command: 'x'", "begins like JSON5 and is none: 1:14"},
		{"tools.toolSearch.mode.x", "1", "to set tools.toolSearch.mode.x, set tools.toolSearch.mode to a new value first"},
		{"tools..x", "1", "expected a key"},
		{"", "1", "expected a key such as"},
	} {
		file := write(t, filepath.Join(t.TempDir(), "c.json5"), handWritten)
		if c.key == "tools.alsoAllow" {
			if _, err := config.Set(t.Context(), file, "tools.allow", "['a']"); err != nil {
				t.Fatal(err)
			}
			c.part = "allow and alsoAllow stand in one scope"
		}
		before := read(t, file)
		change, err := config.Set(t.Context(), file, c.key, c.value)
		if err == nil || !strings.Contains(err.Error(), c.part) || change.Changed {
			t.Errorf("set %s %s: %v, %+v; want %q", c.key, c.value, err, change, c.part)
		}
		if read(t, file) != before {
			t.Errorf("set %s %s changed the file", c.key, c.value)
		}
		onlyFile(t, file)
	}
}

// A mode can be set where search is only switched on or off.
func TestSetBelowASwitch(t *testing.T) {
	for before, after := range map[string]string{
		"{tools:{toolSearch:true}}":                    `{tools:{toolSearch:{enabled:true,mode:"tools"}}}`,
		"{tools:{/* not yet */toolSearch:false}}":      `{tools:{/* not yet */toolSearch:{enabled:false,mode:"tools"}}}`,
		"{tools:{toolSearch:{mode:'code'},core:true}}": `{tools:{toolSearch:{mode:"tools"},core:true}}`,
	} {
		file := filepath.Join(t.TempDir(), "toolsearch.json5")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Set(t.Context(), file, "tools.toolSearch.mode", "tools"); err != nil {
			t.Errorf("%s: %v", before, err)
			continue
		}
		if got := strings.ReplaceAll(read(t, file), "'", `"`); got != after {
			t.Errorf("%s became %s, want %s", before, got, after)
		}
	}
}

func TestSetCreates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "folder", "c.json5")
	change, err := config.Set(t.Context(), file, "tools.toolSearch.mode", "tools")
	if err != nil || !change.Created || !change.Changed {
		t.Fatalf("%+v, %v", change, err)
	}
	if want := "{\n  tools: {\n    toolSearch: {\n      mode: \"tools\",\n    },\n  },\n}\n"; read(t, file) != want {
		t.Errorf("got\n%s", read(t, file))
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	other := filepath.Join(t.TempDir(), "c.json5")
	if _, err := config.Set(t.Context(), other, "tools.toolSearch.mode", "nonsense"); err == nil {
		t.Error("an invalid new file was accepted")
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused value created the file: %v", err)
	}
}

func TestSetWarns(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "{}")
	change, err := config.Set(t.Context(), file, "tools.toolSearch.maxSearchLimit", "99")
	if err != nil || len(change.Warnings) != 1 || !strings.Contains(change.Warnings[0].Message, "50 is used") {
		t.Errorf("%+v, %v", change, err)
	}
}

func TestUnset(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), handWritten)
	change, err := config.Unset(t.Context(), file, "tools.deny")
	if want := strings.Replace(handWritten, "    deny: ['exec'],\n", "", 1); err != nil || !change.Changed || read(t, file) != want {
		t.Errorf("%+v, %v\n%s", change, err, read(t, file))
	}
	if change, err := config.Unset(t.Context(), file, "tools.deny"); err != nil || change.Changed {
		t.Errorf("again: %+v, %v", change, err)
	}
	before := read(t, file)
	if _, err := config.Unset(t.Context(), file, "mcp.servers.github.command"); err == nil || read(t, file) != before {
		t.Errorf("a server without command was accepted: %v", err)
	}
	if _, err := config.Unset(t.Context(), filepath.Join(t.TempDir(), "none"), "tools"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestGet(t *testing.T) {
	t.Setenv("GH_TOKEN", secret)
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), handWritten)
	for _, c := range []struct{ key, want string }{
		{"tools.toolSearch", `{"mode":"tools"}`}, {"tools.deny[0]", `"exec"`},
		{"mcp.servers.github", `{"command":"gh-mcp","env":{"TOKEN":"${GH_TOKEN}"}}`}, // as written
	} {
		if got, err := config.Get(t.Context(), file, c.key); err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.key, got, err, c.want)
		}
	}
	for _, c := range []struct{ key, want string }{
		{"tools.toolSearch.maxSearchLimit", "20"}, {"mcp.servers.github.callTimeoutMs", "60000"}, {"agents.list[0].tools", ""}, {"tools.toolSearch.runtime", "embedded"},
	} {
		_, err := config.Get(t.Context(), file, c.key)
		var unset *config.NotSetError
		if !errors.As(err, &unset) || unset.Default != c.want {
			t.Errorf("%s: %v; want the default %q", c.key, err, c.want)
		}
	}
}

func TestModeAndLinksStay(t *testing.T) {
	dir := t.TempDir()
	target := write(t, filepath.Join(dir, "real", "c.json5"), "{}")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json5")
	if err := os.Symlink(filepath.Join("real", "c.json5"), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if _, err := config.Set(t.Context(), link, "tools.core", "true"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 || !strings.Contains(read(t, target), "core: true") {
		t.Errorf("target: %v, %v", info.Mode(), err)
	}
	onlyFile(t, target)
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Set(t.Context(), dangling, "tools.core", "true"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a dangling link: %v", err)
	}
}

// childEnv makes the test binary an editing process: it sets its own server's
// argument again and again, and says so line by line.
const childEnv = "TOOLSEARCH_TEST_EDIT"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		os.Exit(editForEver(name, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

func editForEver(name, file string) int {
	for i := range 1_000_000 {
		value := fmt.Sprintf("{command: 'x', args: ['%d', '%s']}", i, strings.Repeat(name, 2000))
		if _, err := config.Set(context.Background(), file, "mcp.servers."+name, value); err != nil {
			fmt.Println("failed:", err)
			return 1
		}
		fmt.Println(i)
	}
	return 0
}

// editor is one editing process.
type editor struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startEditor(t *testing.T, name, file string) *editor {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], file)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &editor{cmd, bufio.NewScanner(out)}
}

// waitEdits waits until the editor has made n more edits.
func (e *editor) waitEdits(n int) error {
	for range n {
		if !e.lines.Scan() {
			return fmt.Errorf("the editor ended: %v", e.lines.Err())
		}
		if line := e.lines.Text(); strings.HasPrefix(line, "failed") {
			return errors.New(line)
		}
	}
	return nil
}

func (e *editor) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait() // says that it was killed
}

// Two processes that edit at once lose none of each other's edits, and a reader
// never sees half a file.
func TestProcessesEditAtOnce(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "// kept\n{}\n")
	a, b := startEditor(t, "alpha", file), startEditor(t, "beta", file)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, e := range []*editor{a, b} {
		wg.Go(func() { errs[i] = e.waitEdits(25) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
			if _, err := config.Load(t.Context(), file); err != nil {
				t.Errorf("while it was edited: %v", err)
				reading = false
			}
		}
	}
	<-done
	a.kill()
	b.kill()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(t.Context(), file)
	if err != nil || len(c.MCP.Servers) != 2 || !strings.HasPrefix(read(t, file), "// kept\n") {
		t.Errorf("after: %+v, %v", c, err)
	}
}

// A process killed at any moment leaves the old version or the new one, holds
// no lock, and its remains are cleared away by the next edit.
func TestKilledWhileEditing(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "// kept\n{}\n")
	for i := range 15 {
		e := startEditor(t, "alpha", file)
		err := e.waitEdits(1 + i%3) // it is somewhere in its next edit
		e.kill()
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(t.Context(), file)
		if err != nil || len(c.MCP.Servers) != 1 {
			t.Fatalf("after kill %d: %+v, %v", i, c, err)
		}
	}
	write(t, filepath.Join(filepath.Dir(file), ".c.json5.123.tmp"), "left by a killed edit")
	if _, err := config.Set(t.Context(), file, "tools.core", "true"); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, file)
}

// An edit that cannot get the lock ends with its context.
func TestEditHonoursContext(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := config.Set(ctx, file, "tools.core", "true"); !errors.Is(err, context.Canceled) || read(t, file) != "{}" {
		t.Errorf("set with an ended context: %v, %s", err, read(t, file))
	}
}

func BenchmarkLoad(b *testing.B) {
	file := filepath.Join("testdata", "openclaw-2025.json")
	for b.Loop() {
		if _, err := config.Load(b.Context(), file); err != nil {
			b.Fatal(err)
		}
	}
}
