package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolsearch/toolsearch/internal/config"
)

type report struct {
	cfg *config.Config
	err error
}

// watch starts a Watch on a file that was just loaded.
func watch(t *testing.T, c *config.Config) <-chan report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reports, ended := make(chan report), make(chan error, 1)
	go func() {
		ended <- config.Watch(ctx, c, func(c *config.Config, err error) {
			select {
			case reports <- report{c, err}:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return reports
}

func loadFile(t *testing.T, file string) *config.Config {
	t.Helper()
	c, err := config.Load(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWatch(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "{tools: {toolSearch: {maxSearchLimit: 1}}}")
	c := loadFile(t, file)
	write(t, file, "{tools: {toolSearch: {maxSearchLimit: 2}}}") // between Load and Watch
	reports := watch(t, c)
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 2 {
		t.Errorf("before the watch: %+v", r)
	}
	write(t, file, "{tools: {toolSearch: {maxSearchLimit: 3}}}") // in place
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 3 {
		t.Errorf("written in place: %+v", r)
	}
	if _, err := config.Set(t.Context(), file, "tools.toolSearch.maxSearchLimit", "4"); err != nil { // replaced
		t.Fatal(err)
	}
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 4 {
		t.Errorf("replaced: %+v", r)
	}
	write(t, file, "{tools: {toolSearch: {mode: 7}}}")
	var faults *config.Errors
	if r := <-reports; !errors.As(r.err, &faults) || r.cfg.Tools.ToolSearch.MaxSearchLimit != 4 {
		t.Errorf("a faulty file: %+v", r)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := <-reports; !errors.Is(r.err, os.ErrNotExist) || r.cfg.Tools.ToolSearch.MaxSearchLimit != 4 {
		t.Errorf("no file: %+v", r)
	}
	write(t, file, "{tools: {toolSearch: {maxSearchLimit: 5}}}")
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 5 {
		t.Errorf("back again: %+v", r)
	}
}

// A link that is pointed elsewhere, as orchestrators do, is a change; so is one
// of the file behind it.
func TestWatchLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "v1", "c.json5"), "{tools: {toolSearch: {maxSearchLimit: 1}}}")
	v2 := write(t, filepath.Join(dir, "v2", "c.json5"), "{tools: {toolSearch: {maxSearchLimit: 2}}}")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "tmp")); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("v1", "data")
	link(filepath.Join("data", "c.json5"), "c.json5")
	reports := watch(t, loadFile(t, filepath.Join(dir, "c.json5")))
	link("v2", "data")
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 2 {
		t.Errorf("pointed elsewhere: %+v", r)
	}
	write(t, v2, "{tools: {toolSearch: {maxSearchLimit: 3}}}")
	if r := <-reports; r.err != nil || r.cfg.Tools.ToolSearch.MaxSearchLimit != 3 {
		t.Errorf("behind the link: %+v", r)
	}
}

func TestWatchNothing(t *testing.T) {
	if err := config.Watch(t.Context(), config.Default(), func(*config.Config, error) {}); err == nil {
		t.Error("the defaults were watched")
	}
}

func TestWatchLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	file := write(t, filepath.Join(t.TempDir(), "c.json5"), "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := config.Watch(ctx, loadFile(t, file), func(*config.Config, error) {}); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}
