package lockdown

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

var required = []string{LayerProcess, LayerLimits, LayerPrivs, LayerSeccomp}

const (
	nobody = 65534

	// What the process needs beside the guest's heap: the Go runtime's arenas
	// and the engine's tables.
	ownMemory = 192 << 20
	maxStack  = 64 << 20
	goHeap    = 64 << 20
)

// Apply locks the process down for an engine that runs inside it. It must be
// called from the main goroutine, locked to its thread. An error means that the
// process is not confined and must end.
func Apply(o Options) ([]wire.Layer, error) {
	// An explicit number, or the runtime would keep reading cgroup files. Then
	// every descriptor that is not ours goes.
	runtime.GOMAXPROCS(2)
	if err := closeDescriptors(); err != nil {
		return nil, err
	}
	// The engine would read the time zone from a file later; an empty TZ is UTC.
	time.Local = time.UTC
	if err := os.Setenv("TZ", ""); err != nil {
		return nil, fmt.Errorf("set the time zone: %w", err)
	}
	debug.SetMaxStack(maxStack)  // deep native recursion ends the child, not the machine
	debug.SetMemoryLimit(goHeap) // what Go itself collects; the guest's heap is outside
	debug.SetTraceback("none")   // stderr keeps the reason, not the stacks

	layers, err := common(o)
	if err != nil {
		return nil, err
	}
	layers = append(layers, landlock())
	if err := limit(unix.RLIMIT_NOFILE, 0); err != nil {
		layers = append(layers, off(LayerFiles, err.Error()))
	} else {
		layers = append(layers, on(LayerFiles, ""))
	}
	if err := install(engineFilter(o.Kill)); err != nil {
		return nil, fmt.Errorf("install seccomp filter: %w", err)
	}
	why := "a forbidden call fails"
	if o.Kill {
		why = "a forbidden call kills"
	}
	layers = append(layers, on(LayerSeccomp, why))
	test, err := selfTest(o.Kill)
	if err != nil {
		return nil, err
	}
	return append(layers, test), nil
}

// common applies what does not depend on the engine: user, parent, limits,
// privileges.
func common(o Options) ([]wire.Layer, error) {
	layers := make([]wire.Layer, 1, 8)
	layers = append(layers, dropUser())
	// Changing the user clears the parent-death signal, so it is set after it;
	// a parent that died before that is noticed by its number.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("ask for death with the parent: %w", err)
	}
	if os.Getppid() != o.Parent {
		return nil, errors.New("the parent is gone")
	}
	layers[0] = on(LayerProcess, "")
	if err := limits(o); err != nil {
		return nil, err
	}
	layers = append(layers, on(LayerLimits, fmt.Sprintf("cpu %d s, data %d MiB", o.CPUSeconds, (o.MemoryBytes+ownMemory)>>20)))
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("forbid dumping and tracing: %w", err)
	}
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		if errors.Is(e, syscall.ENOTSUP) { // the first call for all threads: Go refuses it in a cgo build
			return nil, errors.New("this program was built with cgo and cannot confine its threads: build it with CGO_ENABLED=0")
		}
		return nil, fmt.Errorf("give up new privileges: %w", e)
	}
	return append(layers, on(LayerPrivs, "")), nil
}

// dropUser gives up root and every capability. A process that may not change
// its user stays what it is, and says so.
func dropUser() wire.Layer {
	why := ""
	if os.Geteuid() == 0 {
		if err := becomeNobody(); err != nil {
			why = err.Error()
		}
	}
	if err := dropCapabilities(); err != nil {
		return off(LayerUser, fmt.Sprintf("capabilities stay: %v", err))
	}
	if why != "" {
		return off(LayerUser, "still root, without capabilities: "+why)
	}
	return on(LayerUser, fmt.Sprintf("uid %d, no capabilities", os.Geteuid()))
}

func becomeNobody() error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("give up groups: %w", err)
	}
	if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("give up the group: %w", err)
	}
	if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("give up the user: %w", err)
	}
	return nil
}

func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if e != 0 {
		return e
	}
	return nil
}

func limits(o Options) error {
	for _, l := range []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_CPU, o.CPUSeconds},
		// Not the address space: Go reserves far more than it uses. Not the
		// number of processes: it counts per user, over all children.
		{unix.RLIMIT_DATA, o.MemoryBytes + ownMemory},
	} {
		if err := limit(l.what, l.value); err != nil {
			return fmt.Errorf("set resource limit %d to %d: %w", l.what, l.value, err)
		}
	}
	return nil
}

// limit lowers a limit, soft and hard alike. A lower hard limit that is already
// there stays.
func limit(what int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(0, what, nil, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Prlimit(0, what, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// selfTest proves that the wall stands: opening a file and making a socket must
// fail. In kill mode the proof would be death, so it is not asked for.
func selfTest(kill bool) (wire.Layer, error) {
	if kill {
		return off(LayerSelfTest, "not asked for where a forbidden call kills"), nil
	}
	if fd, err := unix.Open("/", unix.O_RDONLY, 0); err == nil {
		return wire.Layer{}, fmt.Errorf("self-test: a file could be opened (descriptor %d)", fd)
	}
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err == nil {
		return wire.Layer{}, fmt.Errorf("self-test: a socket could be made (descriptor %d)", fd)
	}
	return on(LayerSelfTest, "open and socket fail"), nil
}
