//go:build unix

package core

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it replaces. Only root may give files
// away; for others the file becomes their own, as with any editor.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if info, err := f.Stat(); err == nil {
		if now, ok := info.Sys().(*syscall.Stat_t); ok && (now.Uid != st.Uid || now.Gid != st.Gid) {
			_ = f.Chown(int(st.Uid), int(st.Gid)) // see above
		}
	}
}
