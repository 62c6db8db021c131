//go:build unix

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// childFull writes until a file may grow no more, checks that it fails closed,
// and that it goes on when there is room.
func childFull(dir string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return err
	}
	tr, err := transcript.New(transcript.Config{Recorder: s})
	if err != nil {
		return err
	}
	p := call.New(tr.Stage())
	ran := 0
	target := echoTool()
	target.Invoker = tool.InvokerFunc(func(context.Context, tool.Call) (*tool.Result, error) {
		ran++
		return tool.TextResult("done"), nil
	})
	args, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 4000)})
	if err != nil {
		return err
	}
	one := func(i int) error {
		_, err := p.Call(ctx, call.Request{Target: target, Args: args, Origin: call.Origin{Session: "full", Run: "r", CallID: fmt.Sprint(i)}})
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	small := limit
	small.Cur = 512 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		return err
	}
	i, failed := 0, error(nil)
	for ; failed == nil; i++ {
		if i > 10_000 {
			return errors.New("no call failed")
		}
		before := ran
		if failed = one(i); failed != nil && ran != before && !strings.Contains(failed.Error(), "withheld") {
			return fmt.Errorf("the tool ran although the call was refused: %w", failed)
		}
		if failed == nil {
			fmt.Printf("ack %d\n", i)
		}
	}
	if !errors.Is(failed, store.ErrFull) || !strings.Contains(failed.Error(), store.ErrFull.Error()) {
		return fmt.Errorf("the call failed with %w, want ErrFull", failed)
	}
	fmt.Println("failed", failed)
	if err := s.Approvals().Put(ctx, approval.Record{ID: "a", State: approval.Pending, Args: args}); err != nil && !errors.Is(err, store.ErrFull) {
		return fmt.Errorf("an approval failed with %w, want ErrFull", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	// There is room again: the writer takes up what waits by itself.
	for err = s.Flush(ctx); err != nil; err = s.Flush(ctx) {
		if !errors.Is(err, store.ErrFull) {
			return err
		}
	}
	if err := one(i); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	fmt.Printf("ack %d\n", i)
	return s.Close()
}

func TestFullDiskFailsClosed(t *testing.T) {
	dir := t.TempDir()
	out, err := child(t, "full", dir).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ids := acks(out)
	if len(ids) < 2 || !strings.Contains(string(out), "\nfailed ") {
		t.Fatalf("the child said %s", out)
	}
	complete(t, recorded(t, open(t, store.Options{Dir: dir}), "full"), ids)
}

func TestReadOnlyFolder(t *testing.T) {
	base, err := os.MkdirTemp("", "store") //nolint:usetesting // others must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, "toolsearch")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "open", dir)
	if os.Getuid() == 0 { // nothing is read only for root: let another user try
		copied := filepath.Join(base, "test.exe")
		if out, err := exec.Command("cp", exe, copied).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := errors.Join(os.Chmod(base, 0o755), os.Chmod(copied, 0o755), os.Chown(dir, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Args = copied, []string{copied}
		cmd.Dir = base
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "read-only:") {
		t.Errorf("the child ended with %v and said %s", err, out)
	}
}

func TestTheStoreIsTheUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "toolsearch")
	if err := os.MkdirAll(dir, 0o755); err != nil { // too open: it is tightened
		t.Fatal(err)
	}
	s := open(t, store.Options{Dir: dir})
	if _, err := s.Begin(t.Context(), transcript.Intent{RunKey: transcript.RunKey{Session: "s", Run: "r"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 6 { // the folders, the database, its WAL, its index, the journal, the lock
		t.Errorf("%d files were seen: %v", seen, err)
	}
}
