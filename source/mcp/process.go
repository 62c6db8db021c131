package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/internal/procgroup"
	"github.com/toolsearch/toolsearch/tool"
)

// maxStderr bounds, in bytes, what is remembered of a server's stderr.
const maxStderr = 8 << 10

// process is a running server with its group: everything it starts, unless
// that leaves the group on purpose, ends with it.
type process struct {
	cmd    *exec.Cmd
	group  *procgroup.Group
	stdin  *os.File // we write
	stdout *os.File // we read
	stderr *os.File // drained into tail
	tail   *tail

	exited  chan struct{} // closed once the leader was reaped and its group killed
	drained chan struct{} // closed once stderr is read no more

	stopOnce sync.Once
}

// startProcess runs the server's command in a group of its own, with a minimal
// environment.
func startProcess(cfg *Server) (*process, error) {
	env := childEnvironment(cfg.Env)
	path, err := lookCommand(cfg.Command, cfg.Env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), path, cfg.Args...) // stop ends it
	cmd.Dir, cmd.Env = cfg.Dir, env
	p := &process{
		cmd:     cmd,
		tail:    &tail{max: maxStderr},
		exited:  make(chan struct{}),
		drained: make(chan struct{}),
	}
	theirs, err := p.openPipes()
	if err != nil {
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	p.group, err = procgroup.Start(cmd)
	for _, f := range theirs {
		_ = f.Close() // the child has its own copies
	}
	if err != nil {
		p.closePipes()
		if _, missing := os.Stat(cmp.Or(cfg.Dir, ".")); missing != nil { // what exec says of it reads as if the program were missing
			return nil, fmt.Errorf("run %q in its folder: %w", cfg.Command, missing)
		}
		return nil, fmt.Errorf("run %q: %w", cfg.Command, err)
	}
	go func() {
		defer close(p.drained)
		p.tail.drain(p.stderr)
	}()
	go func() {
		defer close(p.exited)
		_ = p.group.Wait() // the state is in cmd.ProcessState
	}()
	return p, nil
}

// openPipes makes the three pipes and returns the child's ends. Plain files,
// not cmd.StdoutPipe, so that Wait neither copies nor closes anything.
func (p *process) openPipes() (theirs []*os.File, err error) {
	var ours []*os.File
	defer func() {
		if err != nil {
			for _, f := range append(ours, theirs...) {
				_ = f.Close()
			}
		}
	}()
	for fd := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if fd == 0 {
			p.stdin, p.cmd.Stdin = w, r
			ours, theirs = append(ours, w), append(theirs, r)
			continue
		}
		ours, theirs = append(ours, r), append(theirs, w)
		if fd == 1 {
			p.stdout, p.cmd.Stdout = r, w
		} else {
			p.stderr, p.cmd.Stderr = r, w
		}
	}
	return theirs, nil
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close() // closing twice is harmless
	}
}

// stop ends the group: stdin is closed, then it is asked, then killed, with a
// pause of grace between the steps (0 kills at once). It returns when the
// leader was reaped and nothing of ours reads from it.
func (p *process) stop(grace time.Duration) {
	p.stopOnce.Do(func() {
		_ = p.stdin.Close()
		if !p.exitsWithin(grace) {
			if grace > 0 {
				p.group.Terminate()
			}
			if !p.exitsWithin(grace) {
				p.group.Kill()
			}
		}
		<-p.exited
		p.awaitLastWords()
		p.closePipes() // also unblocks readers when a stranger holds the other end
		<-p.drained
	})
	<-p.drained
}

// awaitLastWords lets what the process wrote to stderr be read to its end: the
// reason why it ended is there. Who else holds the other end is not waited for
// long.
func (p *process) awaitLastWords() {
	timer := time.NewTimer(drainPatience / 2)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
	}
}

func (p *process) exitsWithin(d time.Duration) bool {
	if d <= 0 {
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// exitText says how the process ended, "" while it runs.
func (p *process) exitText() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	if state := p.cmd.ProcessState; state != nil {
		return state.String()
	}
	return "ended"
}

// childEnvironment is the minimal environment and the configured additions,
// which win.
func childEnvironment(extra []string) []string {
	return append(append(procgroup.Environment(), extra...), tool.WithinEnv+"=1") // exec keeps the last of equal keys
}

// lookCommand finds the program as the server's own PATH would.
func lookCommand(command string, env []string) (string, error) {
	if strings.ContainsAny(command, `/\`) {
		return command, nil
	}
	for i := len(env) - 1; i >= 0; i-- {
		dirs, ok := strings.CutPrefix(env[i], "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil && filepath.IsAbs(path) {
				return path, nil
			}
		}
		return "", fmt.Errorf("find command %q in the server's own PATH: %w", command, exec.ErrNotFound)
	}
	path, err := exec.LookPath(command)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = exec.ErrNotFound
		}
		return "", fmt.Errorf("find command %q in PATH: %w", command, err)
	}
	return path, nil
}
