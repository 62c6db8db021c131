// Package lockdown takes from the running process what it can do: files,
// network, other processes, new privileges, more memory, more time. There is
// no way back. Steps run in a fixed order, each of which is there for a
// reason; see the comments in lockdown_linux.go.
package lockdown

import "github.com/toolsearch/toolsearch/code/internal/wire"

// Options says how far to go.
type Options struct {
	Parent      int    // process that must be the parent, or the child ends
	CPUSeconds  uint64 // CPU time after which the kernel kills the process
	MemoryBytes uint64 // what the guest's heap may hold
	Kill        bool   // a forbidden system call kills the process instead of failing with EPERM
}

// Names of the layers, in the order in which they are put on.
const (
	LayerProcess  = "process" // own process, empty environment, dies with its parent
	LayerUser     = "user"    // an unprivileged user without capabilities
	LayerLimits   = "limits"  // CPU time, memory, file size, no core dump
	LayerPrivs    = "no-new-privileges"
	LayerLandlock = "landlock" // the kernel refuses files and TCP
	LayerFiles    = "no-files" // no file descriptor can be opened
	LayerSeccomp  = "seccomp"  // the kernel refuses all but a few system calls
	LayerSelfTest = "self-test"
)

// Required lists the layers without which no guest may run on this system.
func Required() []string { return required }

func on(name, why string) wire.Layer  { return wire.Layer{Name: name, On: true, Why: why} }
func off(name, why string) wire.Layer { return wire.Layer{Name: name, Why: why} }
