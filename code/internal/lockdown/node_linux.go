package lockdown

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// Node needs more than the engine: it compiles code at run time, has threads
// and an event loop of its own, and reads its libraries. What it gets is still
// a wall: no sockets, no other process, no file opened for writing, and of the
// file system only the binary and the system's libraries.

const (
	nodeFiles  = 64        // descriptors
	nodeMemory = 768 << 20 // beside the guest's heap
)

// libraries are where the loader finds what node is linked with.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"}

// Program is a binary opened before the process gives up its user, so that it
// runs also from a folder that nobody may enter.
type Program struct {
	file *os.File
	path string
}

// openProgram opens a binary for Exec.
func openProgram(path string) (*Program, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open program: %w", err)
	}
	return &Program{file: f, path: path}, nil
}

// ApplyProgram locks the process down for a program that replaces it with
// Exec. It must be called like Apply.
func ApplyProgram(o Options, path string) (*Program, []wire.Layer, error) {
	runtime.GOMAXPROCS(2)
	if err := closeDescriptors(); err != nil {
		return nil, nil, err
	}
	p, err := openProgram(path)
	if err != nil {
		return nil, nil, err
	}
	o.MemoryBytes += nodeMemory - ownMemory
	o.CPUSeconds *= 3 // its compiler and collector run beside it
	layers, err := common(o)
	if err != nil {
		return nil, nil, err
	}
	const read = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	const run = read | unix.LANDLOCK_ACCESS_FS_EXECUTE
	rules := []pathRule{{file: p.file, access: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE}}
	for _, dir := range libraries {
		if _, err := os.Stat(dir); err == nil {
			rules = append(rules, pathRule{path: dir, access: run})
		}
	}
	for _, file := range []string{"/etc/ld.so.cache", "/dev/null"} {
		if _, err := os.Stat(file); err == nil {
			rules = append(rules, pathRule{path: file, access: unix.LANDLOCK_ACCESS_FS_READ_FILE})
		}
	}
	layers = append(layers, landlock(rules...))
	if err := limit(unix.RLIMIT_NOFILE, nodeFiles); err != nil {
		return nil, nil, fmt.Errorf("limit descriptors: %w", err)
	}
	layers = append(layers, off(LayerFiles, fmt.Sprintf("node needs descriptors: at most %d, read-only", nodeFiles)))
	if err := install(programFilter(o.Kill, p.file.Fd())); err != nil {
		return nil, nil, fmt.Errorf("install seccomp filter: %w", err)
	}
	layers = append(layers, on(LayerSeccomp, "no sockets, no processes, no writing to files; node may compile code"))
	test, err := programSelfTest(o.Kill)
	if err != nil {
		return nil, nil, err
	}
	return p, append(layers, test), nil
}

func programSelfTest(kill bool) (wire.Layer, error) {
	if kill {
		return off(LayerSelfTest, "not asked for where a forbidden call kills"), nil
	}
	if _, err := unix.Open("/dev/null", unix.O_RDWR, 0); err == nil {
		return wire.Layer{}, fmt.Errorf("self-test: a file could be opened for writing")
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err == nil {
		return wire.Layer{}, fmt.Errorf("self-test: a socket could be made")
	}
	return on(LayerSelfTest, "opening for writing and sockets fail"), nil
}

// Exec replaces the process. It returns only an error.
func (p *Program) Exec(args []string) error {
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	empty := [1]byte{}
	var env [1]*byte
	_, _, e := syscall.RawSyscall6(unix.SYS_EXECVEAT, p.file.Fd(), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), unix.AT_EMPTY_PATH, 0)
	runtime.KeepAlive(argv)
	return fmt.Errorf("start %s: %w", p.path, e)
}

// programFilter allows a program with threads and an event loop to start and to
// compute.
func programFilter(kill bool, program uintptr) []unix.SockFilter {
	deny := denial(kill)
	f := newFilter()
	f.on(unix.SECCOMP_RET_ALLOW,
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_LSEEK,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER,
		unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MINCORE,
		unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
		unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_GETUID, unix.SYS_GETGID, unix.SYS_GETEUID, unix.SYS_GETEGID, unix.SYS_CAPGET,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
		unix.SYS_GETRANDOM, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL, unix.SYS_PIPE2, unix.SYS_EVENTFD2,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ, unix.SYS_GETRUSAGE,
		unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_GETCWD, unix.SYS_FSTAT, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FCNTL, unix.SYS_DUP3,
		unix.SYS_MEMBARRIER,
	)
	f.on(unix.SECCOMP_RET_ALLOW, programCalls...)
	// Only for reading, and Landlock says what.
	f.when(unix.SYS_OPENAT, 2, lacks(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC), deny)
	f.when(unix.SYS_PRLIMIT64, 2, is(0), deny) // asking, not setting: a null pointer's low half
	f.when(unix.SYS_TGKILL, 0, is(uint32(os.Getpid())), deny)
	f.when(unix.SYS_EXECVEAT, 0, is(uint32(program)), deny)
	f.prctl(deny, unix.PR_SET_VMA, unix.PR_SET_NAME)
	// A terminal's settings are asked for; there is none.
	f.on(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOTTY), unix.SYS_IOCTL)
	// What these would do is refused in a way that makes the asker do without.
	f.on(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_STATX, unix.SYS_PKEY_ALLOC)
	f.programThreads(deny)
	f.answer(deny)
	return f.program
}

// prctl allows some operations.
func (f *filter) prctl(deny uint32, operations ...uint32) {
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(2*len(operations)+2), uint32(unix.SYS_PRCTL))
	f.load(lowHalf(0))
	for _, op := range operations {
		f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, op)
		f.answer(unix.SECCOMP_RET_ALLOW)
	}
	f.answer(deny)
}

// programThreads allows clone for threads: whatever else it asks for, it must
// share memory and be a thread, and may not make namespaces.
func (f *filter) programThreads(deny uint32) {
	const need = unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND
	const never = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_PTRACE
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 6, uint32(unix.SYS_CLONE))
	f.load(lowHalf(0))
	f.emit(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 3, 0, never)
	f.emit(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, need)
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, need)
	f.answer(unix.SECCOMP_RET_ALLOW)
	f.answer(deny)
}
