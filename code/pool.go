package code

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	refillDelay = 10 * time.Millisecond
	maxBackoff  = 30 * time.Second
)

// pool keeps children waiting. It owns every child of a runner until the child
// is gone.
type pool struct {
	runner *Runner
	want   int // children to keep idle

	mu       sync.Mutex
	idle     []*process
	starting int
	failures int // starts that failed in a row
	retry    *time.Timer
	all      map[*process]struct{}
	closed   bool
	gone     sync.WaitGroup // children and starts under way
}

func newPool(r *Runner, want int) *pool {
	return &pool{runner: r, want: want, all: make(map[*process]struct{})}
}

// start launches a child and waits until it is ready.
func (p *pool) start(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.gone.Add(1) // for the child; given back by forget, or below
	p.mu.Unlock()
	c, err := p.runner.launch(p.forget)
	if err != nil {
		p.gone.Done()
		return nil, err
	}
	p.mu.Lock()
	if !c.forgotten {
		p.all[c] = struct{}{}
	}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		c.kill()
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		c.kill()
		return nil, context.Cause(ctx)
	}
	if c.hello.Protocol == 0 { // ready was closed by its end
		<-c.gone
		return nil, fmt.Errorf("the code child ended before it was ready: %w", c.describe())
	}
	return c, nil
}

// forget drops a child that is gone.
func (p *pool) forget(c *process) {
	p.mu.Lock()
	c.forgotten = true
	delete(p.all, c)
	if i := slices.Index(p.idle, c); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.failures++ // it died while idle: do not respawn without end
		p.fill()
	}
	p.mu.Unlock()
	p.gone.Done()
}

// keep makes a ready child wait for a run.
func (p *pool) keep(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, alive := p.all[c]; alive && !p.closed {
		p.idle = append(p.idle, c)
		p.fill()
	}
}

// take returns a ready child: a waiting one, or a new one.
func (p *pool) take(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
		p.fill()
		p.mu.Unlock()
		return c, nil
	}
	p.fill()
	p.mu.Unlock()
	return p.start(ctx)
}

// fill starts what is missing, in the background and a moment later, so that
// the run that took a child goes first. After failures it waits longer each
// time. The lock is held.
func (p *pool) fill() {
	if p.closed || p.retry != nil {
		return
	}
	wait := refillDelay
	if p.failures > 0 {
		wait = min(time.Second<<min(p.failures-1, 8), maxBackoff)
	}
	p.retry = time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.retry = nil
		p.launchMissing()
	})
}

func (p *pool) launchMissing() {
	for !p.closed && len(p.idle)+p.starting < p.want {
		p.starting++
		p.gone.Go(p.addOne)
	}
}

func (p *pool) addOne() {
	c, err := p.start(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if err != nil {
		if !p.closed {
			p.failures++
			p.runner.logger.Warn("a waiting code child did not start", "error", err, "failures", p.failures)
			p.fill()
		}
		return
	}
	p.failures = 0
	if _, alive := p.all[c]; alive && !p.closed {
		p.idle = append(p.idle, c)
	}
}

// close kills every child and waits until all are gone.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.idle = nil
	if p.retry != nil && p.retry.Stop() {
		p.retry = nil
	}
	children := make([]*process, 0, len(p.all))
	for c := range p.all {
		children = append(children, c)
	}
	p.mu.Unlock()
	for _, c := range children {
		c.kill()
	}
	p.gone.Wait()
}
