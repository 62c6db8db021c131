package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/internal/procgroup"
)

// Bounds of a command.
const (
	maxCommandRuns = 8       // processes of one hook at once; further calls wait within their time
	maxStderr      = 1 << 20 // bytes; more ends the command
	keptStderr     = 2000    // bytes of it that an error keeps for logs
	// pipeGrace is how long output may be held open after the command has ended
	// and its group was killed: only a process that left the group can hold it.
	pipeGrace = time.Second
)

// CommandConfig makes a Command.
type CommandConfig struct {
	// Command is the program and its arguments; no shell reads them. A name
	// without a slash is looked up in PATH when the Runner is made.
	Command []string
	Dir     string // the working directory; "" is the root of the file system
	// Env holds additions to the environment, as KEY=value. Of our own environment
	// the command gets only what a program needs to run at all.
	Env []string
}

// Command returns a Runner that starts a program for every call. The program is
// the leader of a process group of its own, which is killed when the program ends
// or its time is over.
func Command(c CommandConfig) (Runner, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, errors.New("set up a hook's command: no program is given")
	}
	for _, kv := range c.Env {
		if key, _, ok := strings.Cut(kv, "="); !ok || key == "" || strings.IndexByte(kv, 0) >= 0 {
			return nil, fmt.Errorf("set up a hook's command %q: an entry of env is not KEY=value", c.Command[0])
		}
	}
	path, err := exec.LookPath(c.Command[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if lookup := (*exec.Error)(nil); errors.As(err, &lookup) {
			err = lookup.Err // which says the name once more
		}
		return nil, fmt.Errorf("set up a hook's command %q: %w", c.Command[0], err)
	}
	dir := c.Dir
	if dir == "" {
		dir = filepath.VolumeName(path) + string(filepath.Separator)
	}
	return &command{
		path:  path,
		args:  append([]string(nil), c.Command[1:]...),
		dir:   dir,
		env:   append(procgroup.Environment(), c.Env...),
		slots: make(chan struct{}, maxCommandRuns),
	}, nil
}

type command struct {
	path, dir string
	args, env []string
	slots     chan struct{}
}

// Run implements Runner.
func (c *command) Run(ctx context.Context, in *Input) (Decision, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
	defer func() { <-c.slots }()
	doc, err := in.encode()
	if err != nil {
		return Decision{}, &failure{what: "the call is too large to be shown to it", err: err}
	}
	out, err := c.output(ctx, doc)
	if err != nil {
		return Decision{}, err
	}
	d, err := parseDecision(out)
	if err != nil {
		return Decision{}, &failure{what: err.Error()}
	}
	return d, nil
}

// output runs the program to its end and returns what it printed.
func (c *command) output(ctx context.Context, doc []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, c.env, pipeGrace
	cmd.Stdin = bytes.NewReader(doc) // a program that does not read all of it is in its right
	stdout := &bounded{max: MaxAnswer, full: func() { cancel(errFlood) }}
	stderr := &bounded{max: maxStderr, full: func() { cancel(errFlood) }}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	g, err := procgroup.Start(cmd)
	if err != nil {
		return nil, &failure{what: "it could not be started", err: err}
	}
	err = g.Wait()
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(ctx), errFlood):
		return nil, &failure{what: "it printed too much"}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, &failure{what: "it ended with " + exit.ProcessState.String(), err: errors.New(tail(stderr.buf.Bytes()))}
	case err != nil: // also a process that left the group and holds the output
		return nil, &failure{what: "its output could not be read to the end", err: err}
	}
	return stdout.buf.Bytes(), nil
}

var errFlood = errors.New("the hook printed too much")

// bounded takes up to max bytes, and calls full once when there are more.
type bounded struct {
	buf  bytes.Buffer
	max  int
	full func()
}

// Write takes p or fails.
func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.max {
		b.full()
		return 0, errFlood
	}
	return b.buf.Write(p)
}

func tail(b []byte) string {
	return strings.ToValidUTF8(string(b[max(0, len(b)-keptStderr):]), "\uFFFD")
}
