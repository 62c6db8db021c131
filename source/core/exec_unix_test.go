//go:build unix

package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

type executed struct {
	ExitCode                     int
	Signal                       string
	TimedOut                     bool
	Stdout, Stderr               string
	StdoutOmitted, StderrOmitted int64
}

func TestExec(t *testing.T) {
	b := open(t, core.Options{Env: []string{"GIVEN=value"}})
	b.put(t, "sub/file", "here")
	for _, c := range []struct {
		name string
		args args
		want executed
		text string
	}{
		{"output", args{"command": "echo out; echo err >&2"}, executed{Stdout: "out\n", Stderr: "err\n"}, "out\n[stderr]\nerr\n[exit code 0]\n"},
		{"exit code", args{"command": "exit 3"}, executed{ExitCode: 3}, "[exit code 3]\n"},
		{"signal", args{"command": "kill -TERM $$"}, executed{ExitCode: -1, Signal: "terminated"}, "[ended by signal: terminated]\n"},
		{"no such program", args{"command": "no-such-program-here 2>/dev/null"}, executed{ExitCode: 127}, "[exit code 127]\n"},
		{"no input", args{"command": "cat"}, executed{}, "[exit code 0]\n"},
		{"no terminal", args{"command": "(: </dev/tty) 2>/dev/null && echo tty"}, executed{ExitCode: 1}, ""},
		{"workspace", args{"command": "cat sub/file"}, executed{Stdout: "here"}, "here\n[exit code 0]\n"},
		{"cwd", args{"command": "cat file", "cwd": "sub"}, executed{Stdout: "here"}, ""},
		{"given variable", args{"command": "echo $GIVEN"}, executed{Stdout: "value\n"}, ""},
		{"not UTF-8, escapes", args{"command": `printf '\377\033[31mred'`}, executed{Stdout: "\uFFFD\x1b[31mred"}, "\uFFFD[31mred\n[exit code 0]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := b.ok(t, "exec", c.args)
			got := details[executed](t, res)
			if c.name == "no terminal" && got.ExitCode != 0 {
				got.ExitCode = 1 // shells differ in the number
			}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if c.text != "" && res.Text() != c.text {
				t.Errorf("text %q, want %q", res.Text(), c.text)
			}
		})
	}
	for _, a := range []args{{"command": " "}, {"command": "a\x00b"}, {"command": strings.Repeat("x", 70000)}, {"command": "true", "timeoutMs": -5}} {
		b.refused(t, "exec", a, tool.CodeInvalidArgs)
	}
	b.refused(t, "exec", args{"command": "true", "cwd": "none"}, tool.CodeFailed, "no such")
	b.refused(t, "exec", args{"command": "true", "cwd": "sub/file"}, tool.CodeFailed, "not a folder")
}

func TestExecSeesNoSecrets(t *testing.T) {
	t.Setenv("OUR_API_KEY", "s3cret")
	t.Setenv("LD_PRELOAD_FAKE", "s3cret")
	b := open(t, core.Options{})
	if out := details[executed](t, b.ok(t, "exec", args{"command": "env"})); strings.Contains(out.Stdout, "s3cret") || !strings.Contains(out.Stdout, "PATH=") {
		t.Error(out.Stdout)
	}
}

func TestExecBoundsOutput(t *testing.T) {
	b := open(t, core.Options{Limits: core.Limits{ExecOutputBytes: 1000}})
	// 20,000 lines of 6 bytes: 00000 to 19999.
	res := b.ok(t, "exec", args{"command": `i=0; while [ $i -lt 20000 ]; do printf '%05d\n' $i; i=$((i+1)); done`})
	out := details[executed](t, res)
	if out.StdoutOmitted != 120000-1000 {
		t.Errorf("omitted %d, want 119000", out.StdoutOmitted)
	}
	if !strings.HasPrefix(out.Stdout, "00000\n00001\n") || !strings.HasSuffix(out.Stdout, "19998\n19999\n") ||
		!strings.Contains(out.Stdout, "[… 119000 bytes omitted …]") || len(out.Stdout) > 1100 {
		t.Errorf("%d bytes: %q", len(out.Stdout), out.Stdout)
	}
	out = details[executed](t, b.ok(t, "exec", args{"command": `head -c 30000000 /dev/zero >&2`}))
	if out.StderrOmitted != 30000000-1000 || out.Stdout != "" {
		t.Errorf("%d, %q", out.StderrOmitted, out.Stdout)
	}
}

// family is a command whose child and grandchild write their numbers to files
// and then sleep far longer than a test.
const family = `sh -c 'echo $$ > child.tmp; mv child.tmp child; (sh -c "echo \$\$ > grandchild.tmp; mv grandchild.tmp grandchild; exec sleep 1000") & wait' & `

// pid waits for a process of family to say its number.
func (b box) pid(t *testing.T, name string) int {
	t.Helper()
	for {
		data, err := os.ReadFile(filepath.Join(b.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			if t.Context().Err() != nil {
				t.Fatal("the process did not start")
			}
			time.Sleep(time.Millisecond) // between two looks for the event
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// dead waits for a process to be gone. A zombie, which only waits for init, counts.
func dead(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for syscall.Kill(pid, 0) == nil {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is alive", pid)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestExecKillsTheFamily(t *testing.T) {
	for _, c := range []struct {
		name, end string
		cancel    bool
	}{
		{"when cancelled", "wait", true},
		{"when the command ends", "while [ ! -e grandchild ]; do sleep 0.01; done", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, core.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			type answer struct {
				res *tool.Result
				err error
			}
			done := make(chan answer, 1)
			go func() {
				res, err := b.try(ctx, t, "exec", args{"command": family + c.end})
				done <- answer{res, err}
			}()
			child, grandchild := b.pid(t, "child"), b.pid(t, "grandchild")
			if c.cancel {
				cancel()
			}
			got := <-done
			switch {
			case c.cancel:
				if tool.CodeOf(got.err) != tool.CodeCancelled {
					t.Errorf("%v, %v", got.res, got.err)
				}
			case got.err != nil:
				t.Error(got.err)
			default:
				b.timedOut(t, got.res, false)
			}
			dead(t, child)
			dead(t, grandchild)
		})
	}
}

// timedOut checks whether an answer says that the command was ended at its timeout.
func (b box) timedOut(t *testing.T, res *tool.Result, want bool) {
	t.Helper()
	b.checkOutput(t, "exec", res)
	if out := details[executed](t, res); out.TimedOut != want || res.IsError != want {
		t.Errorf("%+v, isError %v", out, res.IsError)
	}
}

// TestExecKillsTheFamilyAtItsTimeout gives the command half a second, and a machine
// on which the family was not there by then four times as long, and so on.
func TestExecKillsTheFamilyAtItsTimeout(t *testing.T) {
	for timeout := 500; ; timeout *= 4 {
		b := open(t, core.Options{})
		res, err := b.try(t.Context(), t, "exec", args{"command": family + "wait", "timeoutMs": timeout})
		if err != nil {
			t.Fatal(err)
		}
		b.timedOut(t, res, true)
		if _, err := os.Stat(filepath.Join(b.dir, "grandchild")); err == nil {
			dead(t, b.pid(t, "child"))
			dead(t, b.pid(t, "grandchild"))
			return
		}
		if timeout > 60_000 {
			t.Fatalf("the family was not there within %d ms", timeout)
		}
	}
}

func TestCloseEndsCommands(t *testing.T) {
	b := open(t, core.Options{})
	done := make(chan error, 1)
	go func() {
		_, err := b.try(t.Context(), t, "exec", args{"command": "echo $$ > x; mv x pid; sleep 1000"})
		done <- err
	}()
	pid := b.pid(t, "pid")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; tool.CodeOf(err) != tool.CodeUnavailable {
		t.Error(err)
	}
	dead(t, pid)
}

// TestExecWithEscapedChild starts a process that leaves the group and keeps
// the output open: the answer must come nevertheless.
func TestExecWithEscapedChild(t *testing.T) {
	b := open(t, core.Options{})
	res := b.ok(t, "exec", args{"command": `command -v setsid >/dev/null || exit 9; setsid sh -c 'echo $$ > p; mv p pid; exec sleep 1000' & while [ ! -e pid ]; do sleep 0.01; done; echo done`})
	out := details[executed](t, res)
	if out.ExitCode == 9 {
		t.Skip("no setsid here")
	}
	pid := b.pid(t, "pid")
	defer syscall.Kill(pid, syscall.SIGKILL)
	if out.Stdout != "done\n" || out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
}
