package code

import (
	"context"
	"encoding/json"

	"github.com/toolsearch/toolsearch/tool"
)

// Host is the tool side of a run. Its methods are called concurrently, at most
// Limits.InFlight at a time, with a context that ends when the run does. An
// error throws in the body: a [tool.Error] with its text and code, any other
// with a text that tells nothing of the program's inside. A method that does not
// honour its context is abandoned shortly after the run's end.
type Host interface {
	// Search answers openclaw.tools.search. options is the second argument as
	// JSON, null when there was none.
	Search(ctx context.Context, query string, options json.RawMessage) (json.RawMessage, error)
	// Describe answers openclaw.tools.describe.
	Describe(ctx context.Context, id string) (json.RawMessage, error)
	// Call answers openclaw.tools.call. args is the second argument as JSON:
	// usually an object, {} when there was none.
	Call(ctx context.Context, id string, args json.RawMessage) (CallReply, error)
}

// CallReply is what a tool call gives the body.
type CallReply struct {
	Tool   json.RawMessage // the tool's compact entry; null when empty
	Result *tool.Result
}

// Owned is what a Host may be besides: its runs belong to somebody. Where more runs
// wait than there are places, the owners take turns, so that nobody's many runs
// hold up another's one. A host that is not Owned has the owner "".
type Owned interface{ Owner() string }

func ownerOf(h Host) string {
	if o, ok := h.(Owned); ok {
		return o.Owner()
	}
	return ""
}

type pauseKey struct{}

// Pause stops the run's clock until the returned function is called, for
// example while a human decides about an approval. ctx is the one a Host method
// got; for any other context Pause does nothing. Pauses may overlap; the clock
// runs again when the last has ended, and all of them together last at most an
// hour. While its clock stands, a run does not take a place from others. The
// guest may go on computing meanwhile, within its limit of CPU time.
func Pause(ctx context.Context) (resume func()) {
	if p, ok := ctx.Value(pauseKey{}).(pauser); ok {
		return p.pause()
	}
	return func() {}
}

type pauser interface{ pause() (resume func()) }
