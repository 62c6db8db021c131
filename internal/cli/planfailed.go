package cli

import (
	"log/slog"
	"sync"
	"time"
)

// toldAgainAfter is how long a failure that was told of is not told again: many
// kinds of run may be under the same rules.
const toldAgainAfter = time.Minute

// maxTold bounds the failures that are remembered as told.
const maxTold = 64

// planFailed tells of planning that fails while nobody waits for it. A verb that
// answers once returns that error itself, so that only the log with -v has it too.
func (a *app) planFailed(opt openOptions) func(error) {
	log := a.logger()
	if !opt.watch {
		return func(err error) { log.Debug("planning failed; no tool is shown", "error", err) }
	}
	t := &tellOnce{log: log, told: map[string]time.Time{}}
	return t.tell
}

// tellOnce logs a failure once in a while.
type tellOnce struct {
	log  *slog.Logger
	mu   sync.Mutex
	told map[string]time.Time // by text; at most maxTold
}

func (t *tellOnce) tell(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := err.Error()
	if at, ok := t.told[text]; ok && time.Since(at) < toldAgainAfter {
		return
	}
	if len(t.told) >= maxTold {
		clear(t.told)
	}
	t.told[text] = time.Now()
	t.log.Error("planning failed; no tool is shown", "error", err)
}
