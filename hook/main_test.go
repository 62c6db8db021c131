package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/tool"
)

// childArg as the first argument makes the test binary a hook, whose behaviour
// the second argument names.
const childArg = "hook-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		child(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is one run of a hook program.
func child(mode string, args []string) {
	if mode == "holder" { // a process that a hook leaves behind
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(conn, "held")
		_, _ = os.NewFile(3, "holds").WriteString("x")
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	if mode != "deaf" {
		doc, err := io.ReadAll(os.Stdin)
		if err != nil || !json.Valid(doc) {
			os.Exit(9)
		}
		if mode == "echo" { // answers with what it got
			quoted, _ := json.Marshal(string(doc))
			fmt.Printf(`{"decision":"block","reason":%s}`, quoted)
			return
		}
	}
	switch mode {
	case "say", "deaf":
		fmt.Print(args[0])
	case "say-and-fail":
		fmt.Print(args[0])
		fmt.Fprintln(os.Stderr, "secret detail")
		os.Exit(3)
	case "say-and-hang":
		fmt.Print(args[0])
		fallthrough
	case "hang":
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		sleepForever()
	case "panic":
		panic("secret detail")
	case "suicide":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		sleepForever()
	case "flood":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	case "flood-stderr":
		for {
			fmt.Fprint(os.Stderr, strings.Repeat("x", 1<<16))
		}
	case "env":
		quoted, _ := json.Marshal(strings.Join(os.Environ(), "\n"))
		fmt.Printf(`{"decision":"block","reason":%s}`, quoted)
	case "leave": // ends at once and leaves a process that holds stdout
		leave(args[0])
		fmt.Print(`{"decision":"continue"}`)
	case "leave-and-hang":
		leave(args[0])
		sleepForever()
	}
}

// leave starts a holder, and returns when it holds its connection.
func leave(addr string) {
	held, holds, err := os.Pipe()
	if err != nil {
		os.Exit(8)
	}
	cmd := exec.Command(os.Args[0], childArg, "holder", addr)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{holds}
	if err := cmd.Start(); err != nil {
		os.Exit(8)
	}
	_ = holds.Close()
	_, _ = held.Read(make([]byte, 1))
}

// command is a hook that runs the test binary.
func command(t testing.TB, args ...string) hook.Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := hook.Command(hook.CommandConfig{
		Command: append([]string{exe, childArg}, args...),
		Env:     []string{"GORACE=atexit_sleep_ms=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spy is a target that remembers what it was called with.
type spy struct {
	runs int
	args string
	res  *tool.Result
}

func (s *spy) target(source tool.Source, owner, name string) *tool.Tool {
	return &tool.Tool{
		ID: tool.NewID(source, owner, name), Source: source, Owner: owner, Name: name, Input: tool.RawSchema(`{}`),
		Invoker: tool.InvokerFunc(func(_ context.Context, c tool.Call) (*tool.Result, error) {
			s.runs++
			s.args = string(c.Args)
			if s.res != nil {
				return s.res, nil
			}
			return tool.TextResult("done"), nil
		}),
	}
}

func pipeline(t testing.TB, asker hook.Asker, hooks ...hook.Hook) *call.Pipeline {
	t.Helper()
	set, _, err := hook.New(hooks, asker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return call.New(set.Stage())
}

func request(target *tool.Tool) call.Request {
	return call.Request{Target: target, Args: json.RawMessage(`{"n":12345678901234567890}`), Origin: call.Origin{
		Session: "s1", Run: "r1", Agent: "main", Caller: "ann", CallID: "c2", Control: "tool_call", Parent: "c1",
	}}
}

// sleepForever blocks until the process is killed. An empty select would not
// do: without cgo the runtime sees that nothing can wake it, and panics.
func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}
