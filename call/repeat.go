package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of what a Repeats remembers.
const (
	maxRepeatOwners = 1024 // sessions; the one heard of longest ago is forgotten
	maxRepeatCalls  = 64   // failing calls of one session, likewise
	// RepeatWindow is how long a failure counts. It starts anew with each
	// failure of the same call, and not with a refusal.
	RepeatWindow = 5 * time.Minute
)

// Repeats stops a model that makes the same failing call again and again. Its
// stage stands outside of validation, so that it sees invalid arguments too.
//
// A call is the same when one session calls the same tool with the same
// arguments, however they are written. It has failed when the tool answered with
// isError or the call ended in an error. It has not failed when it was cancelled,
// when it was blocked (a person may approve it meanwhile), when the tool was not
// known, or when its source was down: trying again can mend those. The first
// failure is passed on as it is, the second one says that it is the second, and
// further calls are refused before they reach the tool, until RepeatWindow has
// passed since the last failure. A success forgets the failures of that call.
//
// A Repeats is safe for concurrent use. Its memory is bounded; what it forgets
// counts as not failed.
type Repeats struct {
	mu     sync.Mutex
	owners *simplelru.LRU[repeatOwner, *failing]
}

// repeatOwner is whose calls are counted together.
type repeatOwner struct{ session, agent, caller string }

type repeatCall struct {
	target tool.ID
	args   Digest
}

// failing are the failing calls of one owner.
type failing = simplelru.LRU[repeatCall, failures]

type failures struct {
	count int
	last  time.Time
}

// newLRU is for bounds that are constants: only one below 1 is refused.
func newLRU[K comparable, V any](most int) *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU[K, V](most, nil)
	if err != nil {
		panic(fmt.Sprintf("call: %v", err))
	}
	return l
}

// NewRepeats returns one that remembers nothing yet.
func NewRepeats() *Repeats {
	return &Repeats{owners: newLRU[repeatOwner, *failing](maxRepeatOwners)}
}

// Stage returns the stage.
func (p *Repeats) Stage() Stage {
	return func(next Handler) Handler {
		return func(ctx context.Context, r Request) (*tool.Result, error) {
			owner := ownerOf(r.Origin)
			before, key := p.before(owner, &r)
			if before >= 2 {
				return nil, refusedRepeat(r.Target)
			}
			res, err := next(ctx, r)
			switch {
			case ctx.Err() != nil && err != nil:
				return res, err
			case err == nil && res != nil && !res.IsError:
				if before > 0 {
					p.forget(owner, key)
				}
				return res, nil
			case err != nil && !counts(err):
				return res, err
			}
			if p.fail(owner, &r, key) < 2 {
				return res, err
			}
			return sayRepeated(res, err)
		}
	}
}

// ownerOf takes the run where there is no session, so that two connections
// without one do not count together.
func ownerOf(o Origin) repeatOwner {
	session := "session " + o.Session
	if o.Session == "" {
		session = "run " + o.Run
	}
	return repeatOwner{session, o.Agent, o.Caller}
}

// before returns how often the call has failed of late. It reads the arguments
// only where the owner has failures at all; otherwise the key is zero.
func (p *Repeats) before(owner repeatOwner, r *Request) (int, repeatCall) {
	p.mu.Lock()
	calls, ok := p.owners.Get(owner)
	p.mu.Unlock()
	if !ok {
		return 0, repeatCall{}
	}
	key, err := keyOf(r)
	if err != nil {
		return 0, repeatCall{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := calls.Get(key)
	if ok && time.Since(f.last) >= RepeatWindow {
		p.forgetLocked(owner, key)
		return 0, key
	}
	return f.count, key
}

func keyOf(r *Request) (repeatCall, error) {
	digest, err := DigestOf(r.Args)
	return repeatCall{r.Target.ID, digest}, err
}

// fail counts one failure, and returns how many there are now. Arguments that
// are no JSON are counted by nobody: validation refuses them each time.
func (p *Repeats) fail(owner repeatOwner, r *Request, key repeatCall) int {
	if key == (repeatCall{}) {
		var err error
		if key, err = keyOf(r); err != nil {
			return 0
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	calls, ok := p.owners.Get(owner)
	if !ok {
		calls = newLRU[repeatCall, failures](maxRepeatCalls)
		p.owners.Add(owner, calls)
	}
	f, _ := calls.Get(key)
	f = failures{f.count + 1, time.Now()}
	calls.Add(key, f)
	return f.count
}

func (p *Repeats) forget(owner repeatOwner, key repeatCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLocked(owner, key)
}

func (p *Repeats) forgetLocked(owner repeatOwner, key repeatCall) {
	calls, ok := p.owners.Get(owner)
	if !ok {
		return
	}
	calls.Remove(key)
	if calls.Len() == 0 {
		p.owners.Remove(owner)
	}
}

// counts reports whether an error is the call's own failure.
func counts(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	switch tool.CodeOf(err) {
	case tool.CodeCancelled, tool.CodeBlocked, tool.CodeUnavailable, tool.CodeUnknownTool,
		tool.CodeCatalogGone, tool.CodeLimitExhausted:
		return false
	}
	return true
}

const (
	repeatedNote = "This same call failed before with the same arguments. A third one will not be made"
	repeatedNext = "Change the arguments, read the tool's description and parameters again, or take another way."
)

// sayRepeated puts the note into the second failure.
func sayRepeated(res *tool.Result, err error) (*tool.Result, error) {
	if err == nil {
		noted, err := AppendText(res, repeatedNote+". "+repeatedNext)
		if err != nil {
			return res, nil // the tool's own words matter more than the note
		}
		return noted, nil
	}
	var te *tool.Error
	if !errors.As(err, &te) {
		return nil, &tool.Error{Code: tool.CodeFailed, Reason: fmt.Sprintf("%v. %s", err, repeatedNote), Next: repeatedNext, Err: err}
	}
	noted := *te
	noted.Reason = tool.Clean(te.Reason, tool.MaxErrorText-len(repeatedNote)-2) + ". " + repeatedNote
	if noted.Next == "" {
		noted.Next = repeatedNext
	}
	noted.Err = err
	return nil, &noted
}

func refusedRepeat(t *tool.Tool) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeLimitExhausted,
		By:     "repeat",
		Reason: fmt.Sprintf("%s was not called: this same call with the same arguments has failed twice", t.ID),
		Next:   repeatedNext + " If something else has mended the cause, the same call is made again after a few minutes.",
	}
}
