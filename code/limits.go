package code

import "time"

// Limits bound one run. A zero field means the default; what lies outside the
// bounds is clamped to them.
type Limits struct {
	Timeout     time.Duration // wall clock from Run's call, queue included: default 10 s, 10 ms to 60 s
	CodeBytes   int           // length of the body: default 256 KiB, at most 1 MiB
	LogBytes    int           // console output kept: default 64 KiB, at most 1 MiB
	ResultBytes int           // JSON text of the value: default 256 KiB, at most 4 MiB
	MemoryBytes int64         // the guest's heap: default 64 MiB, 16 to 512 MiB
	InFlight    int           // tool requests in flight at once: default 16, at most 64
	Calls       int           // tool requests in one run: default 1,000, at most 10,000
}

// Bounds that are not settings.
const (
	maxArgs    = 1 << 20          // JSON text of one request's arguments
	maxReply   = 4 << 20          // JSON text of one reply
	maxContent = 64 << 20         // content blocks that one run keeps for its handles
	maxHandles = 1000             // handles in one run
	maxWaiting = 1024             // runs that wait for a child
	maxPaused  = 64               // paused runs that give their place to others
	maxPause   = time.Hour        // all pauses of one run together
	startTime  = 30 * time.Second // a child that is not ready by then is broken; a busy machine may need some
	hostGrace  = 500 * time.Millisecond
)

func (l Limits) clamped() Limits {
	return Limits{
		Timeout:     clamp(l.Timeout, 10*time.Second, 10*time.Millisecond, 60*time.Second),
		CodeBytes:   clamp(l.CodeBytes, 256<<10, 1, 1<<20),
		LogBytes:    clamp(l.LogBytes, 64<<10, 1, 1<<20),
		ResultBytes: clamp(l.ResultBytes, 256<<10, 64, 4<<20),
		MemoryBytes: clamp(l.MemoryBytes, 64<<20, 16<<20, 512<<20),
		InFlight:    clamp(l.InFlight, 16, 1, 64),
		Calls:       clamp(l.Calls, 1000, 1, 10000),
	}
}

func clamp[T int | int64 | time.Duration](v, standard, low, high T) T {
	if v == 0 {
		return standard
	}
	return min(max(v, low), high)
}
