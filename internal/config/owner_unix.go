//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
)

// stranger names the user that a file, or the link to it, belongs to, when this
// is neither who runs the program nor the system's administrator; else it is "".
func stranger(path string) (string, error) {
	for _, look := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(path)
		if err != nil {
			return "", err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()) {
			return fmt.Sprintf("user %d", st.Uid), nil
		}
	}
	return "", nil
}
