package code

import (
	"errors"
	"os/exec"
	"runtime"
)

var errClosed = errors.New("the code runner is closed")

// spawner starts processes from one thread that lives as long as the runner. The
// kernel kills a child when the thread that made it ends, and Go ends threads
// as it likes.
type spawner struct {
	requests chan spawn
	ended    chan struct{}
}

type spawn struct {
	cmd  *exec.Cmd
	done chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawn), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // only after every child is gone
		defer close(s.ended)
		for r := range s.requests {
			r.done <- r.cmd.Start()
		}
	}()
	return s
}

// start starts the command. It must not be called after stop.
func (s *spawner) start(cmd *exec.Cmd) error {
	r := spawn{cmd: cmd, done: make(chan error, 1)}
	s.requests <- r
	return <-r.done
}

// stop ends the thread. Every child must be gone.
func (s *spawner) stop() {
	close(s.requests)
	<-s.ended
}
