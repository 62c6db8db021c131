package lockdown

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is written as a classic BPF program by hand: three dozen
// instructions need no library, and a library's tables of every architecture's
// calls would be initialised in every child.

// Offsets into struct seccomp_data (linux/seccomp.h). Arguments are 64 bits
// wide; both supported architectures are little-endian, so the low half comes
// first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16
)

func lowHalf(arg uint32) uint32 { return offsetArg0 + 8*arg }

// Flags that Go's runtime gives clone for a new thread (runtime/os_linux.go);
// with or without CLONE_SETTLS.
const threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD

// filter assembles a program: rules are tried in order, the first match decides.
type filter struct {
	program []unix.SockFilter
}

func (f *filter) emit(code uint16, jt, jf uint8, k uint32) {
	f.program = append(f.program, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *filter) load(offset uint32)   { f.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (f *filter) answer(action uint32) { f.emit(unix.BPF_RET|unix.BPF_K, 0, 0, action) }

// newFilter begins a program: another architecture, and on amd64 the x32
// calls, are not ours and die.
func newFilter() *filter {
	f := &filter{}
	f.load(offsetArch)
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, auditArch)
	f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(offsetNumber)
	if firstForeignCall != 0 {
		f.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, firstForeignCall)
		f.answer(unix.SECCOMP_RET_KILL_PROCESS)
	}
	return f
}

// on answers a call with an action, whatever its arguments.
func (f *filter) on(action uint32, numbers ...uintptr) {
	for _, n := range numbers {
		f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, uint32(n))
		f.answer(action)
	}
}

// when allows a call if the low half of an argument passes test, a jump that
// goes to its true side to allow; otherwise the call gets the action.
func (f *filter) when(number uintptr, arg uint32, test unix.SockFilter, otherwise uint32) {
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 4, uint32(number))
	f.load(lowHalf(arg))
	f.program = append(f.program, test)
	f.answer(unix.SECCOMP_RET_ALLOW)
	f.answer(otherwise)
}

// is passes when the argument equals k, lacks when it has none of the bits k.
func is(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: k}
}

func lacks(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 1, Jf: 0, K: k}
}

func denial(kill bool) uint32 {
	if kill {
		return unix.SECCOMP_RET_KILL_PROCESS
	}
	return unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
}

// engineFilter allows what a Go program needs that computes, keeps time, and
// reads and writes descriptors it already has.
func engineFilter(kill bool) []unix.SockFilter {
	deny := denial(kill)
	f := newFilter()
	f.on(unix.SECCOMP_RET_ALLOW,
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_PREAD64,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
		unix.SYS_MUNMAP, unix.SYS_MADVISE,
		unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
		unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_GETRANDOM, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL,
	)
	f.when(unix.SYS_MMAP, 2, lacks(unix.PROT_EXEC), deny)
	f.when(unix.SYS_MPROTECT, 2, lacks(unix.PROT_EXEC), deny)
	f.when(unix.SYS_TGKILL, 0, is(uint32(os.Getpid())), deny)
	f.when(unix.SYS_PRCTL, 0, is(unix.PR_SET_VMA), deny)
	// The TypeScript compiler asks whether it writes to a terminal. It does not,
	// and that is no reason to die.
	f.on(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOTTY), unix.SYS_IOCTL)
	f.threads(deny)
	f.answer(deny)
	return f.program
}

// threads lets Go make its threads and nothing else: clone with exactly its
// flags. clone3 hides its flags in memory, so it does not exist here, and who
// wants it falls back to clone.
func (f *filter) threads(deny uint32) {
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 5, uint32(unix.SYS_CLONE))
	f.load(lowHalf(0))
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, threadFlags)
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, threadFlags|unix.CLONE_SETTLS)
	f.answer(unix.SECCOMP_RET_ALLOW)
	f.answer(deny)
	f.on(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), unix.SYS_CLONE3)
}

// install puts the program on every thread of the process.
func install(program []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	r, _, e := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if e != 0 {
		return e
	}
	if r != 0 {
		return fmt.Errorf("thread %d could not be filtered", r)
	}
	return nil
}
