package procgroup

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object that ends with its last handle, and all its processes
// with it.
type group struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	job windows.Handle // 0 when there is none
}

func newGroup(cmd *exec.Cmd) *group {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	return &group{cmd: cmd}
}

// started puts the command into a job. Without one only the command itself can
// be killed.
func (g *group) started() {
	g.mu.Lock()
	defer g.mu.Unlock()
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = assign(job, g.cmd.Process.Pid)
	}
	if err != nil {
		_ = windows.CloseHandle(job) // nothing is in it
		return
	}
	g.job = job
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(job, process)
}

func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		return windows.TerminateJobObject(g.job, 1)
	}
	return g.cmd.Process.Kill()
}

// terminate does nothing: there is no polite signal that reaches a process
// without a console.
func (g *group) terminate() {}

// awaitLeader has nothing to do: a job's handle stays its own.
func (g *group) awaitLeader() {}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job) // kills what is left
		g.job = 0
	}
}
