//go:build unix

package procgroup_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/procgroup"
)

// TestMain makes the test binary a family: a parent that starts a child, which
// holds a connection for as long as it lives.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "parent":
		child := exec.Command(os.Args[0], "child", os.Args[2])
		if err := child.Start(); err != nil {
			os.Exit(3)
		}
		if os.Args[3] == "stay" {
			_ = child.Wait()
		}
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the child is there
		os.Exit(0)
	case len(os.Args) == 3 && os.Args[1] == "child":
		conn, err := net.Dial("tcp", os.Args[2])
		if err != nil {
			os.Exit(3)
		}
		_, _ = conn.Write([]byte("x"))
		_, _ = io.Copy(io.Discard, conn)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// What a command started dies with it, whether it ends by itself or is made to.
func TestNothingIsLeft(t *testing.T) {
	for name, end := range map[string]func(cancel func(), g *procgroup.Group){
		"ends by itself": nil,
		"cancelled":      func(cancel func(), _ *procgroup.Group) { cancel() },
		"asked to end":   func(_ func(), g *procgroup.Group) { g.Terminate() },
		"killed":         func(_ func(), g *procgroup.Group) { g.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			how := "leave"
			if end != nil {
				how = "stay"
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "parent", l.Addr().String(), how)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			g, err := procgroup.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if end != nil {
				end(cancel, g)
			} else if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
			if err := g.Wait(); (err != nil) != (end != nil) {
				t.Errorf("the command ended with %v", err)
			}
			g.Terminate() // of a number that may be a stranger's by now
			g.Kill()
			// The connection ends with the grandchild; the test's deadline is the bound.
			if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("the grandchild still speaks: %d, %v", n, err)
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	if _, err := procgroup.Start(exec.CommandContext(t.Context(), "/nonexistent/program")); err == nil {
		t.Error("a program that is not there was started")
	}
}
