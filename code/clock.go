package code

import (
	"sync"
	"time"
)

// clock is a deadline that can stand still. It calls expire once, when its time
// is used up.
type clock struct {
	mu       sync.Mutex
	left     time.Duration // time to run, as of the last start
	since    time.Time     // the last start; zero while standing
	pauses   int           // overlapping pauses
	paused   time.Duration // used up by pauses that have ended
	pausedAt time.Time
	timer    *time.Timer
	expire   func()
	onPause  func(standing bool) // called without the lock
}

// newClock starts a clock.
func newClock(d time.Duration, expire func(), onPause func(bool)) *clock {
	c := &clock{left: d, since: time.Now(), expire: expire, onPause: onPause}
	c.timer = time.AfterFunc(d, expire)
	return c
}

// stop ends the clock for good.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.pauses = -1
}

// pause makes the clock stand until the returned function is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	if c.pauses < 0 || c.paused >= maxPause {
		c.mu.Unlock()
		return func() {}
	}
	c.pauses++
	stands := c.pauses == 1
	if stands {
		c.timer.Stop()
		c.left -= time.Since(c.since)
		c.pausedAt = time.Now()
		c.timer = time.AfterFunc(maxPause-c.paused, c.expire)
	}
	c.mu.Unlock()
	if stands {
		c.onPause(true)
	}
	return sync.OnceFunc(c.resume)
}

func (c *clock) resume() {
	c.mu.Lock()
	if c.pauses <= 0 {
		c.mu.Unlock()
		return
	}
	c.pauses--
	runs := c.pauses == 0
	if runs {
		c.timer.Stop()
		c.paused += time.Since(c.pausedAt)
		c.since = time.Now()
		c.timer = time.AfterFunc(max(c.left, 0), c.expire)
	}
	c.mu.Unlock()
	if runs {
		c.onPause(false)
	}
}
