//go:build unix

package core_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

const secret = "SECRET that no tool may show"

// walled is a workspace beside a folder that it must not reach.
func walled(t *testing.T) (b box, outside string) {
	t.Helper()
	top := t.TempDir()
	outside = filepath.Join(top, "outside")
	for _, dir := range []string{outside, filepath.Join(top, "workspace")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	return open(t, core.Options{Workspace: filepath.Join(top, "workspace")}), outside
}

func (b box) link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(b.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// untouched fails if anything outside was changed.
func untouched(t *testing.T, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Fatalf("outside became %v, %v", entries, err)
	}
	data, err := os.ReadFile(filepath.Join(outside, "secret.txt"))
	if err != nil || string(data) != secret {
		t.Fatalf("outside became %q, %v", data, err)
	}
}

func TestLinksOutAreRefused(t *testing.T) {
	b, outside := walled(t)
	b.put(t, "in/file", "inside")
	b.link(t, filepath.Join(outside, "secret.txt"), "abs-file")
	b.link(t, outside, "abs-dir")
	b.link(t, "../outside/secret.txt", "rel-file")
	b.link(t, "../outside", "rel-dir")
	b.link(t, "..", "parent")
	b.link(t, "rel-dir", "twice")
	b.link(t, "in/../../outside/secret.txt", "winding")
	b.link(t, "../outside/new.txt", "dangling")
	for _, p := range []string{
		"abs-file", "rel-file", "twice/secret.txt", "abs-dir/secret.txt", "rel-dir/secret.txt", "winding", "parent/outside/secret.txt",
		"in/../rel-dir/secret.txt", "parent/workspace/../outside/secret.txt", "../outside/secret.txt", filepath.Join(outside, "secret.txt"), "dangling",
	} {
		for name, a := range map[string]args{
			"read":  {"path": p},
			"image": {"path": p},
			"grep":  {"pattern": "SECRET", "path": p},
			"write": {"path": p, "content": "overwritten"},
			"edit":  {"path": p, "oldText": "SECRET", "newText": "changed"},
		} {
			if said := b.refused(t, name, a, tool.CodeBlocked, "outside the workspace"); strings.Contains(said, secret) {
				t.Errorf("%s %s shows the secret", name, p)
			}
		}
	}
	for _, p := range []string{"abs-dir", "rel-dir", "twice", "parent", "..", "in/../..", outside} {
		b.refused(t, "list", args{"path": p}, tool.CodeBlocked, "outside the workspace")
		b.refused(t, "grep", args{"pattern": "SECRET", "path": p}, tool.CodeBlocked, "outside the workspace")
		b.refused(t, "exec", args{"command": "cat secret.txt", "cwd": p}, tool.CodeBlocked, "outside the workspace")
		b.refused(t, "write", args{"path": p + "/made/new.txt", "content": "x"}, tool.CodeBlocked)
	}
	if got := details[grepped](t, b.ok(t, "grep", args{"pattern": "SECRET"})); len(got.Matches) != 0 {
		t.Errorf("grep followed a link: %+v", got)
	}
	for _, e := range details[listed](t, b.ok(t, "list", args{"depth": 10})).Entries {
		if strings.Contains(e.Path, "secret") || (e.Type == "symlink") == strings.HasPrefix(e.Path, "in") {
			t.Errorf("list: %+v", e)
		}
	}
	untouched(t, outside)
}

func TestLinksInsideAreFollowed(t *testing.T) {
	b, outside := walled(t)
	b.put(t, "a/b/file", "text")
	b.put(t, "a/side", "side")
	b.link(t, "a/b/file", "file")
	b.link(t, "a/b", "dir")
	b.link(t, "dir/../side", "up") // from the folder that dir leads to, not from the workspace
	for path, want := range map[string]string{"file": "text", "dir/file": "text", "up": "side"} {
		if got := b.ok(t, "read", args{"path": path}).Text(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	b.ok(t, "edit", args{"path": "file", "oldText": "text", "newText": "one"})
	b.ok(t, "write", args{"path": "up", "content": "two"})
	b.ok(t, "write", args{"path": "dir/new/x", "content": "three"})
	for path, want := range map[string]string{"a/b/file": "one", "a/side": "two", "a/b/new/x": "three"} {
		if got := b.get(t, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, name := range []string{"file", "up"} {
		if info, err := os.Lstat(filepath.Join(b.dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	b.link(t, "loop", "loop")
	for name, a := range map[string]args{"read": {"path": "loop"}, "list": {"path": "loop"}, "write": {"path": "loop", "content": ""}} {
		b.refused(t, name, a, tool.CodeFailed)
	}
	untouched(t, outside)
}

// TestWallHoldsDuringRaces exchanges a file and a folder for links that lead
// outside, as fast as it can, while every tool uses them.
func TestWallHoldsDuringRaces(t *testing.T) {
	b, outside := walled(t)
	b.put(t, "dir/secret.txt", "harmless")
	b.put(t, "file", "harmless")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		dir, file := filepath.Join(b.dir, "dir"), filepath.Join(b.dir, "file")
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Any of these may fail when a tool has just written there.
			_ = os.Rename(dir, dir+".kept")
			_ = os.Symlink("../outside", dir)
			_ = os.Rename(file, file+".kept")
			_ = os.Symlink("../outside/secret.txt", file)
			_ = os.Remove(dir)
			_ = os.Rename(dir+".kept", dir)
			_ = os.Remove(file)
			_ = os.Rename(file+".kept", file)
		}
	}()
	for range 300 {
		for name, a := range map[string]args{
			"read":  {"path": "dir/secret.txt"},
			"image": {"path": "file"},
			"list":  {"path": "dir"},
			"grep":  {"pattern": "SECRET"},
			"write": {"path": "dir/new.txt", "content": "x"},
			"edit":  {"path": "file", "oldText": "SECRET", "newText": "x"},
		} {
			res, err := b.try(t.Context(), t, name, a)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			raw, err := json.Marshal(res.Content)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), secret) || name == "list" && strings.Contains(string(raw), "../") {
				t.Fatalf("%s went through the wall: %s", name, raw)
			}
		}
	}
	close(stop)
	<-stopped
	untouched(t, outside)
}

// TestSpecialFilesDoNotHang gives every file tool files that cannot be read
// like files. Nobody ever opens the other end of the FIFO.
func TestSpecialFilesDoNotHang(t *testing.T) {
	b := open(t, core.Options{})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(b.dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	special := map[string]string{"fifo": "FIFO", "sock": "socket"}
	switch err := makeNullDevice(filepath.Join(b.dir, "null")); {
	case err == nil:
		special["null"] = "device"
	case !errors.Is(err, fs.ErrPermission):
		t.Fatal(err)
	}
	for path, kind := range special {
		for name, a := range map[string]args{
			"read":  {"path": path},
			"image": {"path": path},
			"grep":  {"pattern": "x", "path": path},
			"write": {"path": path, "content": "x"},
			"edit":  {"path": path, "oldText": "a", "newText": "b"},
		} {
			b.refused(t, name, a, tool.CodeFailed, kind, "not a regular file")
		}
	}
	b.put(t, "file", "x")
	if got := details[grepped](t, b.ok(t, "grep", args{"pattern": "x"})); got.Files != 1 {
		t.Errorf("%+v", got)
	}
	for _, e := range details[listed](t, b.ok(t, "list", args{})).Entries {
		if want := map[bool]string{true: "other", false: "file"}[special[e.Path] != ""]; e.Type != want {
			t.Errorf("%+v, want %s", e, want)
		}
	}
}

// TestFIFORace exchanges a file for a FIFO between the look and the opening.
func TestFIFORace(t *testing.T) {
	b := open(t, core.Options{})
	fifo, file := filepath.Join(b.dir, "fifo"), filepath.Join(b.dir, "file")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	b.put(t, "text", "text")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Link(filepath.Join(b.dir, "text"), file)
			_ = os.Remove(file)
			_ = os.Link(fifo, file)
			_ = os.Remove(file)
		}
	}()
	for range 2000 {
		if _, err := b.try(t.Context(), t, "read", args{"path": "file"}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
}

func TestUnreadableFolders(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	b := open(t, core.Options{})
	b.put(t, "shut/x", "x")
	b.put(t, "open/x", "x")
	if err := os.Chmod(filepath.Join(b.dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(b.dir, "shut"), 0o755) })
	got := details[grepped](t, b.ok(t, "grep", args{"pattern": "x"}))
	if got.Files != 1 || !got.Truncated {
		t.Errorf("%+v", got)
	}
	b.refused(t, "read", args{"path": "shut/x"}, tool.CodeFailed, "permission denied")
	b.refused(t, "list", args{"path": "shut"}, tool.CodeFailed, "permission denied")
}
