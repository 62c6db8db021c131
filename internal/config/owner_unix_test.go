//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/config"
)

// The current folder may be one that others write into, such as /tmp.
func TestFindRefusesTheFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to somebody else")
	}
	const other = 12345
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "toolsearch.json5"), "{}")
	if err := os.Chown(file, other, -1); err != nil {
		t.Skipf("root of a confined system, which cannot give a file to somebody else: %v", err)
	}
	env := map[string]string{}
	opt := config.FindOptions{Dir: dir, UserDir: t.TempDir(), Getenv: func(k string) string { return env[k] }}
	refused := func(what string) {
		t.Helper()
		if _, err := config.Find(opt); err == nil || !strings.Contains(err.Error(), "user 12345") || !strings.Contains(err.Error(), "--config") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("somebody's file")
	opt.Explicit = "toolsearch.json5"
	if l, err := config.Find(opt); err != nil || l.Origin != config.FromFlag {
		t.Errorf("named: %+v, %v", l, err)
	}
	opt.Explicit = ""
	env[config.EnvVar] = "toolsearch.json5"
	if l, err := config.Find(opt); err != nil || l.Origin != config.FromEnv {
		t.Errorf("named by the variable: %+v, %v", l, err)
	}
	env[config.EnvVar] = ""
	mine := write(t, filepath.Join(dir, "mine.json5"), "{}")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, file); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Find(opt); err != nil {
		t.Errorf("a link of one's own: %v", err)
	}
	if err := os.Lchown(file, other, -1); err != nil {
		t.Fatal(err)
	}
	refused("somebody's link to a file of one's own")
}
