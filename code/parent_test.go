package code_test

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// parentProcess is a program that runs bodies and can be killed.
type parentProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// startParent starts one and waits until a body runs in its child.
func startParent(t *testing.T, path string, attributes *syscall.SysProcAttr) *parentProcess {
	t.Helper()
	p := &parentProcess{cmd: exec.Command(path, "parent")}
	p.cmd.SysProcAttr = attributes
	p.cmd.Dir = "/"
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.lines = bufio.NewScanner(out)
	p.ask("first")
	if line := p.line(t); line != "running" {
		t.Fatalf("the program said %q", line)
	}
	return p
}

func (p *parentProcess) ask(line string) { _, _ = io.WriteString(p.stdin, line+"\n") }

func (p *parentProcess) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the program ended: %v", p.lines.Err())
	}
	return strings.TrimSpace(p.lines.Text())
}

// kill ends the program without giving it a chance to clean up.
func (p *parentProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // also a second time, when it fails and nothing is wrong
}
