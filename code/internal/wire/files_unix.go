//go:build unix

package wire

import (
	"os"
	"os/exec"
)

// ChildFiles returns the child's ends of the two pipes: descriptors 3 and 4.
func ChildFiles() (in, out *os.File) {
	return os.NewFile(3, "in"), os.NewFile(4, "out")
}

// Attach gives a command the child's ends.
func Attach(cmd *exec.Cmd, in, out *os.File) {
	cmd.ExtraFiles = []*os.File{in, out}
}
