// Package reexec is the agreement between a runner and the binary it re-executes:
// the hidden argument, and whether this program would answer to it.
package reexec

import "sync/atomic"

// Arg is the first argument of a re-executed child; a wire.Config follows.
const Arg = "__toolsearch-code-child"

// enabled is process-wide on purpose: it states a fact about this program's
// main function, which a runner cannot find out in any other way.
var enabled atomic.Bool

// Enable records that main handles Arg.
func Enable() { enabled.Store(true) }

// Enabled reports whether main handles Arg.
func Enabled() bool { return enabled.Load() }
