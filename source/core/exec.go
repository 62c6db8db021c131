package core

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/internal/headtail"
	"github.com/toolsearch/toolsearch/internal/procgroup"
	"github.com/toolsearch/toolsearch/tool"
)

type execArgs struct {
	Command   string  `json:"command"`
	Cwd       string  `json:"cwd"`
	TimeoutMs integer `json:"timeoutMs"`
}

const (
	maxCommand = 64 * kib // bytes of a command; systems refuse single arguments over 128 KiB
	// pipeGrace is how long output may go on after the command has ended and
	// its group was killed: only a process that left the group can hold it.
	pipeGrace = 2 * time.Second
)

// outcome is what exec answers.
type outcome struct {
	ExitCode      int    `json:"exitCode"` // -1 when the command was ended by a signal
	Signal        string `json:"signal,omitempty"`
	TimedOut      bool   `json:"timedOut"`
	Stdout        string `json:"stdout"`
	Stderr        string `json:"stderr"`
	StdoutOmitted int64  `json:"stdoutOmitted"` // bytes cut out of the middle
	StderrOmitted int64  `json:"stderrOmitted"`
	DurationMs    int64  `json:"durationMs"`
}

func (s *Source) exec(ctx context.Context, a execArgs) (*tool.Result, error) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return nil, invalid("Give the command line to run", "command is empty")
	case len(a.Command) > maxCommand:
		return nil, invalid("Write a script with write and run it", "command has %d bytes; at most %d are allowed", len(a.Command), maxCommand)
	case strings.IndexByte(a.Command, 0) >= 0:
		return nil, invalid("Give the command without it", "command holds a NUL byte")
	case a.TimeoutMs < 0:
		return nil, invalid("", "timeoutMs is %d; it must be at least 1", a.TimeoutMs)
	}
	dir, err := s.workdir(a.Cwd)
	if err != nil {
		return nil, err
	}
	timeout := s.limits.ExecTimeout
	if a.TimeoutMs > 0 {
		timeout = s.limits.ExecMaxTimeout
		if int64(a.TimeoutMs) < timeout.Milliseconds() {
			timeout = time.Duration(a.TimeoutMs) * time.Millisecond
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	out, err := s.run(limited, a.Command, dir)
	if ctx.Err() != nil { // the caller, and not our timeout, ended it
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &tool.Error{Code: tool.CodeFailed, Reason: "the command could not be started", Next: "Check cwd; if it is right, running commands is not possible here", Err: err}
	}
	out.TimedOut = errors.Is(context.Cause(limited), errTimeout) && out.ExitCode != 0
	res, err := withDetails(out.text(timeout), out)
	if err != nil {
		return nil, err
	}
	res.IsError = out.TimedOut
	return res, nil
}

var errTimeout = errors.New("the command's time is over")

// workdir is the folder that a command starts in. The wall does not hold a
// running command, but a cwd outside it is a mistake worth telling.
func (s *Source) workdir(cwd string) (string, error) {
	if cwd == "" {
		return s.real, nil
	}
	name, err := s.rel(cwd)
	if err != nil {
		return "", err
	}
	dir, err := s.openFolder(name)
	if err != nil {
		return "", s.pathError("run in", cwd, err)
	}
	_ = dir.Close() // nothing was written
	return filepath.Join(s.real, name), nil
}

// run runs the command to its end. Its process group dies with it.
func (s *Source) run(ctx context.Context, command, dir string) (*outcome, error) {
	cmd := shell(ctx, command)
	cmd.Dir = dir
	cmd.Env = s.environment(dir)
	cmd.WaitDelay = pipeGrace
	stdout, stderr := headtail.New(s.limits.ExecOutputBytes), headtail.New(s.limits.ExecOutputBytes)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	started := time.Now()
	g, err := procgroup.Start(cmd)
	if err != nil {
		return nil, err
	}
	err = g.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil, err
	}
	out := &outcome{ExitCode: -1, DurationMs: time.Since(started).Milliseconds()}
	if cmd.ProcessState != nil {
		out.ExitCode = cmd.ProcessState.ExitCode()
		out.Signal = signalName(cmd.ProcessState)
	}
	out.Stdout, out.StdoutOmitted = stdout.String(), stdout.Omitted()
	out.Stderr, out.StderrOmitted = stderr.String(), stderr.Omitted()
	return out, nil
}

// environment is what commands see: enough to find programs and to behave in
// a pipe, and none of this process's secrets.
func (s *Source) environment(dir string) []string {
	env := append(procgroup.Environment(), "PWD="+dir, "TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
	return append(append(env, s.env...), tool.WithinEnv+"=1") // of two equal names the last one counts
}

// text is the outcome for a reader.
func (o *outcome) text(timeout time.Duration) string {
	var b strings.Builder
	stream := func(name, text string) {
		if text == "" {
			return
		}
		if name != "" {
			fmt.Fprintf(&b, "[%s]\n", name)
		}
		b.WriteString(text)
		if !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	stream("", o.Stdout)
	stream("stderr", o.Stderr)
	switch {
	case o.TimedOut:
		fmt.Fprintf(&b, "[stopped after %v; give a longer timeoutMs, or do less at once]\n", timeout)
	case o.Signal != "":
		fmt.Fprintf(&b, "[ended by signal: %s]\n", o.Signal)
	default:
		fmt.Fprintf(&b, "[exit code %d]\n", o.ExitCode)
	}
	return tool.Clean(b.String(), b.Len()) // no escape sequences for a model or a terminal
}
