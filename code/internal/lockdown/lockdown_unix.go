//go:build unix && !linux

package lockdown

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// This system has no filter of system calls that a process can put on itself
// without cgo: the child is a process of its own with limits, an empty
// environment and nothing but the engine in it, and that is all.
var required = []string{LayerProcess, LayerLimits}

const (
	nobody   = 65534
	maxStack = 64 << 20
	goHeap   = 64 << 20
)

// Apply locks the process down as far as this system goes.
func Apply(o Options) ([]wire.Layer, error) {
	time.Local = time.UTC
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(goHeap)
	debug.SetTraceback("none")
	if os.Getppid() != o.Parent {
		return nil, errors.New("the parent is gone")
	}
	user := on(LayerUser, fmt.Sprintf("uid %d", os.Geteuid()))
	if os.Geteuid() == 0 {
		if err := becomeNobody(); err != nil {
			user = off(LayerUser, "still root: "+err.Error())
		}
	}
	for _, l := range []struct {
		what  int
		value uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_CPU, o.CPUSeconds}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return nil, fmt.Errorf("set resource limit %d to %d: %w", l.what, l.value, err)
		}
	}
	files := on(LayerFiles, "")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{}); err != nil {
		files = off(LayerFiles, err.Error())
	}
	const none = "this system has none"
	return []wire.Layer{
		on(LayerProcess, "ends when its pipes close; not killed with its parent"),
		user,
		on(LayerLimits, fmt.Sprintf("cpu %d s; memory only by the engine", o.CPUSeconds)),
		off(LayerPrivs, none),
		off(LayerLandlock, none),
		files,
		off(LayerSeccomp, none+": system calls are not filtered"),
		off(LayerSelfTest, "there is no wall to test"),
	}, nil
}

func becomeNobody() error {
	if err := unix.Setgroups(nil); err != nil {
		return err
	}
	if err := unix.Setgid(nobody); err != nil {
		return err
	}
	return unix.Setuid(nobody)
}

// Program is a binary that replaces the process, which this system cannot
// confine.
type Program struct{}

// ApplyProgram always fails: an unconfined node would be worse than none.
func ApplyProgram(Options, string) (*Program, []wire.Layer, error) {
	return nil, nil, errors.New("the node runtime cannot be confined on this system; use the embedded one")
}

// Exec always fails.
func (p *Program) Exec([]string) error { return errors.ErrUnsupported }
