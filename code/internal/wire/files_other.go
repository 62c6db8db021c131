//go:build !unix

package wire

import (
	"os"
	"os/exec"
)

// ChildFiles returns the child's ends of the two pipes. This system passes on
// only the standard ones.
func ChildFiles() (in, out *os.File) { return os.Stdin, os.Stdout }

// Attach gives a command the child's ends.
func Attach(cmd *exec.Cmd, in, out *os.File) {
	cmd.Stdin, cmd.Stdout = in, out
}
