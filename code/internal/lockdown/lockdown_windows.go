package lockdown

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// Windows has no filter of system calls. A job object bounds what the child
// may use and forbids it children of its own.
var required = []string{LayerProcess, LayerLimits}

const (
	ownMemory = 192 << 20
	maxStack  = 64 << 20
	goHeap    = 64 << 20
)

// Apply locks the process down as far as this system goes.
func Apply(o Options) ([]wire.Layer, error) {
	time.Local = time.UTC
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(goHeap)
	debug.SetTraceback("none")
	if err := enterJob(o); err != nil {
		return nil, err
	}
	const none = "this system has none"
	return []wire.Layer{
		on(LayerProcess, "ends when its pipes close or its parent's job does"),
		off(LayerUser, "runs as the parent's user"),
		on(LayerLimits, fmt.Sprintf("job object: cpu %d s, memory %d MiB, one process", o.CPUSeconds, (o.MemoryBytes+ownMemory)>>20)),
		off(LayerPrivs, none),
		off(LayerLandlock, none),
		off(LayerFiles, none),
		off(LayerSeccomp, none+": system calls are not filtered"),
		off(LayerSelfTest, "there is no wall to test"),
	}, nil
}

// enterJob puts the process into a job of its own. The handle stays open as long
// as the process lives, and closes the job with it.
func enterJob(o Options) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("make a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			PerProcessUserTimeLimit: int64(o.CPUSeconds) * 1e7, // in units of 100 ns
			ActiveProcessLimit:      1,
			LimitFlags: windows.JOB_OBJECT_LIMIT_PROCESS_TIME | windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS |
				windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY | windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
				windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
		},
		ProcessMemoryLimit: uintptr(o.MemoryBytes + ownMemory),
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return fmt.Errorf("limit the job: %w", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("enter the job: %w", err)
	}
	return nil
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
