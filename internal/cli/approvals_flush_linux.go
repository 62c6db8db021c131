package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTypedAhead throws away what was typed and not read yet. Where that fails
// nothing is lost but the precaution.
func dropTypedAhead(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
