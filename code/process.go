package code

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/code/internal/reexec"
	"github.com/toolsearch/toolsearch/code/internal/wire"
	"github.com/toolsearch/toolsearch/internal/headtail"
)

// maxStderr is how much is kept of what a child prints, in bytes: the reason of a
// crash is in its first lines, a library's last words in its last.
const maxStderr = 4 << 10

// violation is a child's breach of the protocol.
type violation struct{ what string }

func (v *violation) Error() string { return "the child broke the protocol: " + v.what }

// process is one child. A single goroutine reads what it says, ends it and
// reaps it; every byte it says is hostile.
type process struct {
	cmd    *exec.Cmd
	in     *os.File      // to the child
	out    *os.File      // from the child
	frames *bufio.Reader // reads out
	stderr *headtail.Buffer

	ready    chan struct{} // closed when the child is ready, or gone
	gone     chan struct{} // closed when the child is reaped
	hello    wire.ReadyMessage
	err      error            // why it ended; valid once gone is closed
	exitCode int              // valid once gone is closed; -1 for a signal
	waited   error            // what waiting for it gave; valid once gone is closed
	onGone   func(p *process) // called once, before gone is closed

	forgotten bool // the pool has been told; guarded by the pool's lock

	mu      sync.Mutex
	session *session // whose run this is, nil while idle
	reaping bool     // no signal may be sent any more: the number may be another's
	write   sync.Mutex
}

// launch starts a child and returns without waiting for it to be ready.
func (r *Runner) launch(onGone func(*process)) (*process, error) {
	config, err := json.Marshal(r.config)
	if err != nil {
		return nil, fmt.Errorf("start code child: %w", err)
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start code child: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, fmt.Errorf("start code child: %w", err)
	}
	p := &process{in: in, out: out, frames: bufio.NewReader(out), stderr: headtail.New(maxStderr), ready: make(chan struct{}), gone: make(chan struct{}), onGone: onGone}
	p.cmd = &exec.Cmd{
		Path:        r.executable,
		Args:        []string{"toolsearch", reexec.Arg, string(config)},
		Env:         []string{}, // nil would inherit
		Dir:         "/",
		Stderr:      p.stderr,
		WaitDelay:   time.Second,
		SysProcAttr: processAttributes(),
	}
	wire.Attach(p.cmd, childIn, childOut)
	err = r.spawner.start(p.cmd)
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start code child %s: %w", r.executable, err)
	}
	go p.serve()
	return p, nil
}

// serve owns the child from its start to its end.
func (p *process) serve() {
	late := time.AfterFunc(startTime, p.kill)
	err := p.greet()
	late.Stop()
	if err == nil {
		close(p.ready)
		err = p.listen()
	}
	p.kill()
	p.mu.Lock()
	p.reaping = true
	p.mu.Unlock()
	waited := p.cmd.Wait()
	p.in.Close()
	p.out.Close()
	p.end(err, waited)
}

// end records why the child is gone and tells who needs to know.
func (p *process) end(err, waited error) {
	p.exitCode, p.waited = 0, waited
	if exit, ok := errors.AsType[*exec.ExitError](waited); ok {
		p.exitCode = exit.ExitCode()
	}
	p.err = err
	select {
	case <-p.ready:
	default:
		close(p.ready)
	}
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s != nil {
		s.childGone(err, ending{code: p.exitCode, status: fmt.Sprint(waited), stderr: p.stderr.String()})
	}
	p.onGone(p)
	close(p.gone)
}

// greet reads the ready frame.
func (p *process) greet() error {
	f, err := wire.Read(p.frames, wire.MaxToParent)
	if err != nil {
		return err
	}
	if f.Type != wire.Ready || f.ID != 1 {
		return &violation{"it did not begin with ready"}
	}
	var hello wire.ReadyMessage
	if wire.Check(f.Payload) != nil || json.Unmarshal(f.Payload, &hello) != nil {
		return &violation{"its ready is not valid"}
	}
	if hello.Protocol != wire.Version {
		return &violation{fmt.Sprintf("it speaks version %d, not %d", hello.Protocol, wire.Version)}
	}
	p.hello = hello
	return nil
}

// listen passes frames to the session until its last frame, a breach or the
// child's end. It never waits for a write of ours, or two full pipes would
// wait for each other.
func (p *process) listen() error {
	last := uint32(1)
	for {
		f, err := wire.Read(p.frames, wire.MaxToParent)
		if err != nil {
			return err
		}
		if f.ID <= last {
			return &violation{fmt.Sprintf("frame id %d after %d", f.ID, last)}
		}
		last = f.ID
		p.mu.Lock()
		s := p.session
		p.mu.Unlock()
		if s == nil {
			return &violation{"it spoke before it was given a run"}
		}
		done, err := s.take(f)
		if err != nil || done {
			return err
		}
	}
}

// attach gives the child to a session. It reports false if the child is gone.
func (p *process) attach(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaping {
		return false
	}
	p.session = s
	return true
}

// send writes one frame to the child. after, when not nil, runs before the next
// frame can be written.
func (p *process) send(f wire.Frame, after func()) error {
	p.write.Lock()
	defer p.write.Unlock()
	if after != nil {
		defer after()
	}
	return wire.Write(p.in, f)
}

// kill ends the child and everything in its process group. It may be called at
// any time, by anyone.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaping {
		return
	}
	killGroup(p.cmd.Process)
	// Nobody else holds the pipe's other end; this is for the day one does.
	p.out.SetReadDeadline(time.Now().Add(2 * time.Second))
}

// describe says why the child ended, for logs and errors.
func (p *process) describe() error {
	return fmt.Errorf("%v: %q: %w", p.waited, p.stderr.String(), p.err)
}
