package code_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code"
)

// TestProbe runs a child that locks itself down and then tries to do everything
// it must not. What it could not even ask for is skipped by the layer's own word.
func TestProbe(t *testing.T) {
	r, err := code.New(t.Context(), code.Options{Executable: impostor(t, "probe"), Warm: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for _, l := range r.Layers() {
		name, ok := strings.CutPrefix(l.Name, "probe: ")
		if !ok {
			t.Logf("layer %s: %v %s", l.Name, l.On, l.Why)
			continue
		}
		n++
		if !l.On {
			t.Errorf("%s: %s", name, l.Why)
		}
	}
	if n < 60 {
		t.Errorf("%d attempts, want at least 60", n)
	}
}

// TestLayers checks what a child reports of itself as it is shipped, where a
// forbidden call fails and the self-test is made.
func TestLayers(t *testing.T) {
	t.Setenv(code.SeccompEnv, "")
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		on := make(map[string]bool)
		for _, l := range r.Layers() {
			on[l.Name] = l.On
			t.Logf("%s %v: %s", l.Name, l.On, l.Why)
		}
		for _, name := range []string{"process", "limits", "no-new-privileges", "seccomp", "self-test"} {
			if !on[name] {
				t.Errorf("layer %s is off", name)
			}
		}
		if report := run(t, r, "return new Date(0).getTimezoneOffset()", &host{}); string(report.Value) != "0" {
			t.Errorf("value %s, error %v", report.Value, report.Error)
		}
	})
}

// children returns the numbers of this process's own children that a runner
// started.
func children(t testing.TB, parent int) []int {
	t.Helper()
	var out []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // gone
		}
		_, rest, ok := bytes.Cut(raw, []byte(") "))
		fields := strings.Fields(string(rest))
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(parent) || fields[0] == "Z" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && bytes.Contains(line, []byte("__toolsearch-code-child")) {
			out = append(out, pid)
		}
	}
	return out
}

// TestReadyChild looks at a waiting child from outside.
func TestReadyChild(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may look into a process that cannot be dumped")
	}
	newRunner(t, code.Options{})
	pids := children(t, os.Getpid())
	if len(pids) != 1 {
		t.Fatalf("children %v, want one", pids)
	}
	proc := fmt.Sprintf("/proc/%d/", pids[0])
	entries, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	var poller []string
	for _, e := range entries {
		target, err := os.Readlink(proc + "fd/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		want := map[int]string{0: "/dev/null", 1: "/dev/null", 2: "pipe:", 3: "pipe:", 4: "pipe:"}[n]
		if n > 4 {
			poller = append(poller, target)
		} else if !strings.HasPrefix(target, want) {
			t.Errorf("descriptor %d is %s, want %s", n, target, want)
		}
	}
	slices.Sort(poller)
	if want := []string{"anon_inode:[eventfd]", "anon_inode:[eventpoll]"}; !slices.Equal(poller, want) {
		t.Errorf("descriptors above 4: %v, want the poller's %v", poller, want)
	}
	if env, err := os.ReadFile(proc + "environ"); err != nil || len(env) != 0 {
		t.Errorf("environment %q, error %v", env, err)
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"Uid": "65534 65534 65534 65534", "Gid": "65534 65534 65534 65534", "Groups": "",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2",
	} {
		_, rest, _ := strings.Cut(string(status), "\n"+key+":")
		line, _, _ := strings.Cut(rest, "\n")
		if got := strings.Join(strings.Fields(line), " "); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestChildDiesWithItsParent kills the program with SIGKILL while a body loops
// in its child.
func TestChildDiesWithItsParent(t *testing.T) {
	cases := map[string]*syscall.SysProcAttr{"as it is": nil}
	if os.Geteuid() == 0 {
		cases["as a user"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	}
	for name, attributes := range cases {
		t.Run(name, func(t *testing.T) {
			p := startParent(t, executable, attributes)
			pids := children(t, p.cmd.Process.Pid)
			if len(pids) != 1 {
				t.Fatalf("children %v, want one", pids)
			}
			fd, err := unix.PidfdOpen(pids[0], 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			p.kill()
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			for {
				n, err := unix.Poll(poll, 60_000)
				if err == unix.EINTR {
					continue
				}
				if n != 1 || err != nil {
					t.Fatalf("the child outlives its parent: %d, %v", n, err)
				}
				return
			}
		})
	}
}

// TestThreadEnds starts a runner from a thread that then ends. A child that hung
// on that thread would be killed by the kernel.
func TestThreadEnds(t *testing.T) {
	made := make(chan *code.Runner, 1)
	var thread int
	var begin func()
	begin = func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		if thread = unix.Gettid(); thread == os.Getpid() {
			go begin() // the first thread never ends before the process does
			return
		}
		r, err := code.New(t.Context(), code.Options{Executable: executable})
		if err != nil {
			t.Error(err)
		}
		made <- r
	}
	go begin()
	r := <-made
	if r == nil {
		return
	}
	defer r.Close()
	for { // until the thread is gone
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err != nil {
			break
		}
		runtime.Gosched()
	}
	if report := run(t, r, "return 1", &host{}); !report.OK {
		t.Errorf("error %v", report.Error)
	}
}

// TestCgoBuildFailsClosed builds the child with cgo, in which Go cannot put a
// layer on every thread: it must refuse to run.
func TestCgoBuildFailsClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	path := filepath.Join(filepath.Dir(executable), "cgochild")
	if err := buildChild(path, "CGO_ENABLED=1", "./internal/testchild/cgo"); err != nil {
		t.Skipf("no cgo here: %v", err)
	}
	r, err := code.New(t.Context(), code.Options{Executable: path})
	if err == nil {
		_ = r.Close()
		t.Fatal("New accepted a child that cannot confine itself")
	}
	if !strings.Contains(err.Error(), "lock down") || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("error %v, want the lockdown's, and how to build instead", err)
	}
}

func leftChildren(t *testing.T) {
	t.Helper()
	if pids := children(t, os.Getpid()); len(pids) > 0 {
		t.Errorf("children left: %v", pids)
	}
}
