package mcp

import (
	"fmt"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a job object that kills its processes when it is closed.
type processGroup struct{ job windows.Handle }

func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (g *processGroup) attach(pid int) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = assign(job, pid)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return fmt.Errorf("set up job object: %w", err)
	}
	g.job = job
	return nil
}

func assign(job windows.Handle, pid int) error {
	proc, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(proc) }()
	return windows.AssignProcessToJobObject(job, proc)
}

// terminate does nothing: there is no polite signal that reaches a process
// without a console. Closing its stdin has asked it already.
func (g *processGroup) terminate() {}

func (g *processGroup) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g *processGroup) close() { _ = windows.CloseHandle(g.job) }

// reap waits for the server and then ends what it left behind.
func (g *processGroup) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // the state is kept in cmd
	g.kill()
}
