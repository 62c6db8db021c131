package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolsearch/toolsearch/code/internal/lockdown"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// attempts are what a confined process must not be able to do. An attempt that
// returns nil has succeeded.
func attempts(parent int) []struct {
	name string
	try  func() error
} {
	call := func(number uintptr, args ...uintptr) func() error {
		var a [6]uintptr
		copy(a[:], args)
		return func() error {
			if _, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
				return e
			}
			return nil
		}
	}
	path := uintptr(unsafe.Pointer(&[]byte("/etc/passwd\x00")[0]))
	pid := uintptr(parent)
	buffer := uintptr(unsafe.Pointer(&make([]byte, 4096)[0]))
	return []struct {
		name string
		try  func() error
	}{
		{"open a file", func() error { _, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0); return err }},
		{"open for writing", func() error { _, err := unix.Open("/tmp/escape", unix.O_CREAT|unix.O_WRONLY, 0o600); return err }},
		{"open its memory", func() error { _, err := unix.Open("/proc/self/mem", unix.O_RDWR, 0); return err }},
		{"openat2", call(unix.SYS_OPENAT2, ^uintptr(99), path, buffer, 24)},
		{"stat", func() error { var s unix.Stat_t; return unix.Stat("/etc/passwd", &s) }},
		{"statx", func() error { var s unix.Statx_t; return unix.Statx(unix.AT_FDCWD, "/etc/passwd", 0, 1, &s) }},
		{"access", func() error { return unix.Access("/etc/passwd", 0) }},
		{"readlink", func() error { _, err := unix.Readlink("/proc/self/exe", make([]byte, 99)); return err }},
		{"chdir", func() error { return unix.Chdir("/") }},
		{"getcwd", call(unix.SYS_GETCWD, buffer, 4096)},
		{"list a folder", call(unix.SYS_GETDENTS64, 0, buffer, 4096)},
		{"unlink", func() error { return unix.Unlink("/tmp/escape") }},
		{"chmod", func() error { return unix.Fchmodat(unix.AT_FDCWD, "/tmp", 0o777, 0) }},
		{"memfd", func() error { _, err := unix.MemfdCreate("x", 0); return err }},
		{"pipe", func() error { var p [2]int; return unix.Pipe2(p[:], 0) }},
		{"dup", func() error { _, err := unix.Dup(3); return err }},
		{"ioctl", func() error { _, err := unix.IoctlGetInt(2, unix.TIOCGPGRP); return err }},
		{"tcp socket", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
		{"udp socket", func() error { _, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0); return err }},
		{"unix socket", func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"netlink socket", func() error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return err }},
		{"socket pair", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"connect", call(unix.SYS_CONNECT, 3, buffer, 16)},
		{"send a message", call(unix.SYS_SENDTO, 4, buffer, 1, 0, 0, 0)},
		{"exec", func() error { return unix.Exec("/bin/true", []string{"true"}, nil) }},
		{"execveat", call(unix.SYS_EXECVEAT, 3, buffer, 0, 0, unix.AT_EMPTY_PATH)},
		{"fork", call(unix.SYS_CLONE, uintptr(unix.SIGCHLD))},
		{"clone with a shared memory only", call(unix.SYS_CLONE, unix.CLONE_VM)},
		{"clone3", call(unix.SYS_CLONE3, buffer, 88)},
		{"signal the parent", func() error { return unix.Kill(parent, 0) }},
		{"signal everyone", func() error { return unix.Kill(-1, 0) }},
		{"signal a thread of the parent", call(unix.SYS_TGKILL, pid, pid, 0)},
		{"tkill", call(unix.SYS_TKILL, pid, 0)},
		{"pidfd", func() error { _, err := unix.PidfdOpen(parent, 0); return err }},
		{"ptrace the parent", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, pid)},
		{"be traced", call(unix.SYS_PTRACE, unix.PTRACE_TRACEME)},
		{"read the parent's memory", call(unix.SYS_PROCESS_VM_READV, pid, buffer, 1, buffer, 1)},
		{"change the parent's limits", call(unix.SYS_PRLIMIT64, pid, unix.RLIMIT_NOFILE, 0, buffer)},
		{"raise its own limits", func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 10, Max: 10}) }},
		{"executable memory", func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
			return err
		}},
		{"make memory executable", func() error {
			m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return err
			}
			return unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC)
		}},
		{"memory executable by key", call(unix.SYS_PKEY_MPROTECT, 0, 4096, unix.PROT_EXEC, 0)},
		{"personality", call(unix.SYS_PERSONALITY, 0x0400000)},
		{"io_uring", call(unix.SYS_IO_URING_SETUP, 1, buffer)},
		{"bpf", call(unix.SYS_BPF, 0, buffer, 48)},
		{"perf", call(unix.SYS_PERF_EVENT_OPEN, buffer, 0, 0, 0, 0)},
		{"userfaultfd", call(unix.SYS_USERFAULTFD, 0)},
		{"keyring", call(unix.SYS_KEYCTL, 0, 0, 0)},
		{"unshare", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"setns", call(unix.SYS_SETNS, 3, 0)},
		{"mount", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }},
		{"chroot", func() error { return unix.Chroot("/") }},
		{"become root", func() error { return unix.Setresuid(0, 0, 0) }},
		{"take capabilities", call(unix.SYS_CAPSET, buffer, buffer)},
		{"be dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
		{"outlive the parent", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
		{"another filter", call(unix.SYS_SECCOMP, 0, 0, 0)},
		{"shared memory", call(unix.SYS_SHMGET, 0, 4096, 0o600)},
		{"message queue", call(unix.SYS_MQ_OPEN, buffer, 0o100, 0o600, 0)},
		{"set the clock", call(unix.SYS_CLOCK_SETTIME, 0, buffer)},
		{"host name", call(unix.SYS_UNAME, buffer)},
		{"reboot", call(unix.SYS_REBOOT, 0, 0, 0, 0)},
		{"kernel log", call(unix.SYS_SYSLOG, 10, 0, 0)},
	}
}

// probe locks itself down like a child and reports every attempt as a layer: on
// when it was refused.
func probe(config string) {
	runtime.LockOSThread()
	var cfg wire.Config
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		os.Exit(9)
	}
	_, out := wire.ChildFiles()
	layers, err := lockdown.Apply(lockdown.Options{Parent: cfg.Parent, CPUSeconds: cfg.CPUSeconds, MemoryBytes: cfg.MemoryBytes})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	for _, a := range attempts(cfg.Parent) {
		err := a.try()
		why := "it worked"
		if err != nil {
			why = err.Error()
		}
		layers = append(layers, wire.Layer{Name: "probe: " + a.name, On: err != nil, Why: why})
	}
	raw, _ := json.Marshal(wire.ReadyMessage{Protocol: wire.Version, Engine: "probe", Layers: layers})
	_ = wire.Write(out, wire.Frame{Type: wire.Ready, ID: 1, Payload: raw})
	var one [1]byte
	for {
		if n, err := unix.Read(3, one[:]); n == 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}
