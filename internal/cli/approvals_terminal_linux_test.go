package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal: what a person types into far is read
// from near, and the other way round.
func openTerminal(t *testing.T) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { _ = far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { _ = near.Close() })
	return far, near
}

// readUntil reads what a terminal shows up to a mark, and what came with it.
func readUntil(t *testing.T, far *os.File, mark string) []byte {
	t.Helper()
	var shown []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(shown, []byte(mark)) {
		n, err := far.Read(buf)
		if err != nil {
			t.Fatalf("the terminal shows %q: %v", shown, err)
		}
		shown = append(shown, buf[:n]...)
	}
	return shown
}

// A person at a real terminal is asked, and nothing typed before the question
// is an answer.
func TestApprovalAtTheTerminal(t *testing.T) {
	for typed, want := range map[string]string{"y\n": "ran", "\n": "refused", "s\n": "ran", "no\n": "refused"} {
		t.Run(strings.TrimSpace(typed), func(t *testing.T) {
			approvalState(t)
			far, near := openTerminal(t)
			var out bytes.Buffer
			cmd := exec.Command(os.Args[0], "-test.run=^TestApprovalChild$")
			cmd.Env = append(os.Environ(), approvalChild+"=now", approvalChild+"_ARGS="+`{"command":"make\u001b[2J"}`)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = near, &out, near
			if _, err := far.WriteString("y\n"); err != nil { // typed ahead
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = near.Close() // the child has it
			shown := readUntil(t, far, "Allow?")
			if !bytes.Contains(shown, []byte(`command: "make\u001b[2J"`)) || bytes.Contains(shown, []byte("\x1b")) {
				t.Errorf("the terminal shows %q", shown)
			}
			if _, err := far.WriteString(typed); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "\n"+want) {
				t.Errorf("the child says %q, want %s", out.String(), want)
			}
		})
	}
}
