package cli

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"

	"github.com/toolsearch/toolsearch/turn"
)

// gcPercent trades memory for time: a request makes much garbage and leaves
// little. A memory limit bounds it.
const gcPercent = 400

// stdioMemory is the memory limit of a gateway over stdio, in bytes: a client
// starts one of its own, beside others.
const stdioMemory = 192 << 20

// setMemory sets how the garbage collector works, unless the environment does.
func setMemory(limit int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// followMemory is setMemory for a process whose user set no limit: tools that
// need more than half of it raise it, since a collector that finds no garbage
// below the limit would run without end.
func followMemory(limit int64, subscribe func(func(*turn.Plan)) (stop func())) (stop func()) {
	fit := func(*turn.Plan) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		needed := int64(0)
		if live[0].Value.Kind() == metrics.KindUint64 {
			needed = 2 * int64(min(live[0].Value.Uint64(), math.MaxInt64/2))
		}
		setMemory(max(limit, needed))
	}
	fit(nil) // the tools of the last time are there already
	return subscribe(fit)
}
