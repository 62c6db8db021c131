package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/source/plugin"
)

const small = `{id: "small", version: "1", hooks: {before_tool_call: [{command: "./guard"}]}}`

func write(t testing.TB, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// tree lists what is in a folder: names, contents, links.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case info.IsDir():
			out = append(out, rel+"/")
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			out = append(out, rel+" -> "+target)
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			exec := ""
			if info.Mode()&0o100 != 0 && runtime.GOOS != "windows" {
				exec = "*"
			}
			out = append(out, fmt.Sprintf("%s%s %d", rel, exec, len(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func install(t testing.TB, root, from string, replace bool) (*plugin.Plugin, error) {
	t.Helper()
	staged, err := plugin.Stage(t.Context(), root, from)
	if err != nil {
		return nil, err
	}
	if err := staged.Commit(t.Context(), replace); err != nil {
		return nil, err
	}
	return staged.Plugin, nil
}

func TestInstallListRemove(t *testing.T) {
	from := folder(t, small)
	write(t, from, "bin/guard", "#!/bin/sh\n", 0o755)
	write(t, from, "data/x.txt", "hello", 0o644)
	write(t, from, ".git/config", "secret", 0o600)
	root := filepath.Join(t.TempDir(), "data", "plugins")

	if plugins, problems := plugin.Installed(t.Context(), root); len(plugins)+len(problems) != 0 {
		t.Errorf("before anything is installed: %v, %v", plugins, problems)
	}
	p, err := install(t, root, from, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "small"); p.Dir != want || p.Hooks[0].Dir != want {
		t.Errorf("the installed plugin is in %s and its hook in %s, want %s", p.Dir, p.Hooks[0].Dir, want)
	}
	want := []string{"small/", "small/bin/", "small/bin/guard* 10", "small/data/", "small/data/x.txt 5", fmt.Sprintf("small/plugin.json5 %d", len(small))}
	if diff := cmp.Diff(want, tree(t, root)); diff != "" {
		t.Errorf("the installed folder (-want +got):\n%s", diff)
	}

	// A second time only when asked for; what was there before is gone then.
	if _, err := install(t, root, from, false); !errors.Is(err, plugin.ErrInstalled) {
		t.Errorf("a second install: %v", err)
	}
	if diff := cmp.Diff(want, tree(t, root)); diff != "" {
		t.Errorf("after a refused install (-want +got):\n%s", diff)
	}
	if p, err = install(t, root, folder(t, strings.Replace(small, `"1"`, `"2"`, 1)), true); err != nil || p.Version != "2" {
		t.Errorf("a replacement: %+v, %v", p, err)
	}
	if diff := cmp.Diff([]string{"small/", fmt.Sprintf("small/plugin.json5 %d", len(small))}, tree(t, root)); diff != "" {
		t.Errorf("after a replacement (-want +got):\n%s", diff)
	}

	plugins, problems := plugin.Installed(t.Context(), root)
	if len(plugins) != 1 || plugins[0].ID != "small" || plugins[0].Version != "2" || len(problems) != 0 {
		t.Errorf("installed: %v, %v", plugins, problems)
	}
	if err := plugin.Remove(t.Context(), root, "small"); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); len(got) != 0 {
		t.Errorf("after the removal: %q", got)
	}
	for _, id := range []string{"small", "..", ".", "", "a/b", "../data", ".removing-1"} {
		if err := plugin.Remove(t.Context(), root, id); !errors.Is(err, plugin.ErrNotInstalled) {
			t.Errorf("remove %q: %v, want not installed", id, err)
		}
	}
}

func TestStageDiscard(t *testing.T) {
	root := t.TempDir()
	staged, err := plugin.Stage(t.Context(), root, folder(t, small))
	if err != nil {
		t.Fatal(err)
	}
	if plugins, problems := plugin.Installed(t.Context(), root); len(plugins)+len(problems) != 0 {
		t.Errorf("a staged plugin is listed: %v, %v", plugins, problems)
	}
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

// What was shown is what is installed, whatever happens to the folder.
func TestTheCopyCounts(t *testing.T) {
	from := folder(t, small)
	root := t.TempDir()
	staged, err := plugin.Stage(t.Context(), root, from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, from, plugin.ManifestName, strings.Replace(small, "./guard", "./evil", 1), 0o600)
	if err := staged.Commit(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := staged.Plugin.Hooks[0].Command; got != "./guard" {
		t.Errorf("the hook runs %s", got)
	}
}

func TestLinksInside(t *testing.T) {
	from := folder(t, small)
	write(t, from, "lib/real.js", "x", 0o644)
	symlink(t, "../lib/real.js", filepath.Join(from, "lib"), "same.js")
	symlink(t, "lib", from, "alias")
	root := t.TempDir()
	if _, err := install(t, root, from, false); err != nil {
		t.Fatal(err)
	}
	want := []string{"small/", "small/alias -> lib", "small/lib/", "small/lib/real.js 1", "small/lib/same.js -> ../lib/real.js", fmt.Sprintf("small/plugin.json5 %d", len(small))}
	if diff := cmp.Diff(want, tree(t, root)); diff != "" {
		t.Errorf("the installed folder (-want +got):\n%s", diff)
	}
}

// Nothing is taken from outside the folder, nor left behind after a refusal.
func TestFoldersThatAreRefused(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "hunter2", 0o600)
	for _, c := range []struct {
		name, want string
		prepare    func(t *testing.T, dir string)
	}{
		{"absolute link", "absolute", func(t *testing.T, dir string) { symlink(t, secret, dir, "x") }},
		{"link out", "leads out", func(t *testing.T, dir string) { symlink(t, "../x", dir, "x") }},
		{"link to the folder above", "leads out", func(t *testing.T, dir string) { symlink(t, "..", dir, "x") }},
		{"dangling link", "nowhere", func(t *testing.T, dir string) { symlink(t, "missing", dir, "x") }},
		{"link to itself", "nowhere", func(t *testing.T, dir string) { symlink(t, "x", dir, "x") }},
		{"link out through a link", "leads out", func(t *testing.T, dir string) {
			write(t, dir, "a/b/c/file", "", 0o600)
			symlink(t, "../../..", filepath.Join(dir, "a", "b", "c"), "top")
			symlink(t, "top/../"+filepath.Base(filepath.Dir(secret)), filepath.Join(dir, "a", "b", "c"), "x")
		}},
		{"manifest is a link out", "plugin.json5", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, plugin.ManifestName)); err != nil {
				t.Fatal(err)
			}
			symlink(t, secret, dir, plugin.ManifestName)
		}},
		{"deep", "deeper than 64", func(t *testing.T, dir string) { write(t, dir, strings.Repeat("d/", 66)+"f", "", 0o600) }},
		{"large", "larger than 268435456 bytes", func(t *testing.T, dir string) {
			write(t, dir, "big", "", 0o600)
			if err := os.Truncate(filepath.Join(dir, "big"), plugin.MaxBytes+1); err != nil { // a hole: it costs no disk
				t.Fatal(err)
			}
		}},
		{"schema", "tools[0].parameters: ", func(t *testing.T, dir string) {
			write(t, dir, plugin.ManifestName, `{id: "small", start: {command: "x"}, tools: [{name: "t", description: "d", parameters: {properties: 1}}]}`, 0o600)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, root := folder(t, small), t.TempDir()
			c.prepare(t, from)
			_, err := plugin.Stage(t.Context(), root, from)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Stage: %v, want %q", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), from) {
				t.Errorf("Stage: %v, want the user's own folder named", err)
			}
			if got := tree(t, root); len(got) != 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

func TestStageIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := t.TempDir()
	if _, err := plugin.Stage(ctx, root, folder(t, small)); !errors.Is(err, context.Canceled) {
		t.Errorf("Stage: %v", err)
	}
	if got := tree(t, root); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

// One faulty folder harms no other, and says what is wrong.
func TestInstalledReportsProblems(t *testing.T) {
	root := t.TempDir()
	write(t, root, "small/plugin.json5", small, 0o600)
	write(t, root, "broken/plugin.json5", "{id: 'broken',\n tool: []}", 0o600)
	write(t, root, "renamed/plugin.json5", small, 0o600)
	write(t, root, "file", "", 0o600)
	write(t, root, ".adding-1/plugin.json5", small, 0o600)
	write(t, root, "empty/x", "", 0o600)
	symlink(t, "small", root, "twin")
	plugins, problems := plugin.Installed(t.Context(), root)
	if len(plugins) != 1 || plugins[0].ID != "small" {
		t.Errorf("plugins are %v", plugins)
	}
	wants := map[string]string{
		"broken": "plugin.json5:2:2: tool: unknown key", "renamed": `holds the plugin "small"`,
		"file": "no folder", "empty": plugin.ManifestName, "twin": "no folder",
	}
	for _, p := range problems {
		want, ok := wants[filepath.Base(p.Dir)]
		if !ok || !strings.Contains(p.Error(), want) {
			t.Errorf("problem of %s: %v, want %q", p.Dir, p, want)
		}
		delete(wants, filepath.Base(p.Dir))
	}
	if len(wants) > 0 {
		t.Errorf("not reported: %v", wants)
	}
}

// Of many at once exactly one wins, and the folder is whole.
func TestInstallAtOnce(t *testing.T) {
	root, from := t.TempDir(), folder(t, small)
	var all sync.WaitGroup
	won := make(chan error, 8)
	for range cap(won) {
		all.Go(func() {
			staged, err := plugin.Stage(t.Context(), root, from)
			if err == nil {
				err = staged.Commit(t.Context(), false)
			}
			won <- err
		})
	}
	all.Wait()
	close(won)
	good := 0
	for err := range won {
		switch {
		case err == nil:
			good++
		case !errors.Is(err, plugin.ErrInstalled):
			t.Errorf("an install that lost: %v", err)
		}
	}
	if good != 1 {
		t.Errorf("%d installs won, want 1", good)
	}
	if diff := cmp.Diff([]string{"small/", fmt.Sprintf("small/plugin.json5 %d", len(small))}, tree(t, root)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

func TestDefaultRoot(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_DATA_HOME", home)
	if got, err := plugin.DefaultRoot(); err != nil || got != filepath.Join(home, "toolsearch", "plugins") {
		t.Errorf("DefaultRoot is %s, %v", got, err)
	}
	t.Setenv("XDG_DATA_HOME", "relative")
	if got, err := plugin.DefaultRoot(); err != nil || !filepath.IsAbs(got) {
		t.Errorf("with a relative XDG_DATA_HOME it is %s, %v", got, err)
	}
}
