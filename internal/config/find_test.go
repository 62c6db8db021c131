package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsearch/toolsearch/internal/config"
)

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// The order is: flag, variable, current folder, user's folder, defaults.
func TestFind(t *testing.T) {
	dir, user, other := t.TempDir(), t.TempDir(), t.TempDir()
	env := map[string]string{}
	opt := config.FindOptions{Dir: dir, UserDir: user, Getenv: func(k string) string { return env[k] }}
	want := func(step, path string, origin config.Origin, exists bool) {
		t.Helper()
		got, err := config.Find(opt)
		if err != nil || got != (config.Location{Path: path, Origin: origin, Exists: exists}) {
			t.Errorf("%s: got %+v, %v; want %s, %s, %v", step, got, err, path, origin, exists)
		}
	}
	userFile := filepath.Join(user, "toolsearch", "toolsearch.json5")
	want("nothing", userFile, config.FromNowhere, false)
	if l, err := config.Find(opt); err != nil || l.LoadPath() != "" {
		t.Errorf("nothing to load: %q, %v", l.LoadPath(), err)
	}
	write(t, userFile, "{}")
	want("user's", userFile, config.FromUserDir, true)
	want("here", write(t, filepath.Join(dir, "toolsearch.json5"), "{}"), config.FromDir, true)
	env[config.EnvVar] = "e.json5"
	want("variable, missing", filepath.Join(dir, "e.json5"), config.FromEnv, false)
	env[config.EnvVar] = write(t, filepath.Join(other, "e.json5"), "{}")
	want("variable", filepath.Join(other, "e.json5"), config.FromEnv, true)
	opt.Explicit = "f.json5"
	want("flag, missing", filepath.Join(dir, "f.json5"), config.FromFlag, false)
	want("flag", write(t, filepath.Join(dir, "f.json5"), "{}"), config.FromFlag, true)
	if l, err := config.Find(opt); err != nil || l.LoadPath() != filepath.Join(dir, "f.json5") {
		t.Errorf("to load: %q, %v", l.LoadPath(), err)
	}
}

// What cannot be looked at is an error, not a reason to use another file.
func TestFindDoesNotSkip(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "plain"), "")
	if l, err := config.Find(config.FindOptions{Explicit: filepath.Join(file, "x.json5")}); err == nil && l.Exists {
		t.Errorf("found %+v below a file", l)
	}
	loop := filepath.Join(dir, "toolsearch.json5")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if l, err := config.Find(config.FindOptions{Dir: dir, UserDir: t.TempDir(), Getenv: func(string) string { return "" }}); err == nil {
		t.Errorf("a link to itself was passed over: %+v", l)
	}
}
