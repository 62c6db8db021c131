package turn

import (
	"fmt"
	"strconv"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Limits bound one run. Zero is not unlimited: CheckLimits turns it into the
// default.
type Limits struct {
	Rounds int           // answers of the model
	Calls  int           // calls by the model; those inside a code body are bounded there
	Time   time.Duration // wall clock, without the time the run is held
	Tokens int           // read and written in all rounds together, as the model API counts
}

// Defaults and bounds of Limits.
const (
	DefaultRounds = 25
	MaxRounds     = 1000
	DefaultCalls  = 100
	MaxCalls      = 10_000
	DefaultTime   = 10 * time.Minute
	MaxTime       = 24 * time.Hour
	DefaultTokens = 1_000_000
	MaxTokens     = 1_000_000_000

	// maxParallel bounds the calls of one round that run at once. Those that wait
	// for the caller do not count.
	maxParallel = 16
	// maxAsked bounds the calls that wait for the caller: a code body can make many.
	maxAsked = 256
	// maxBytes bounds what the model writes and its tools answer in one run: all of
	// it is kept, and sent again in each round.
	maxBytes = 64 << 20
)

// CheckLimits fills in defaults and refuses what is out of bounds.
func CheckLimits(l Limits) (Limits, error) {
	for _, f := range []struct {
		name        string
		value       *int
		most, plain int
	}{
		{"rounds", &l.Rounds, MaxRounds, DefaultRounds},
		{"tool calls", &l.Calls, MaxCalls, DefaultCalls},
		{"tokens", &l.Tokens, MaxTokens, DefaultTokens},
	} {
		if *f.value == 0 {
			*f.value = f.plain
		}
		if *f.value < 1 || *f.value > f.most {
			return l, fmt.Errorf("set the limits of a run: %d %s are not between 1 and %d", *f.value, f.name, f.most)
		}
	}
	if l.Time == 0 {
		l.Time = DefaultTime
	}
	if l.Time < time.Millisecond || l.Time > MaxTime {
		return l, fmt.Errorf("set the limits of a run: a time of %v is not between 1ms and %v", l.Time, MaxTime)
	}
	return l, nil
}

// Limit names what ended a run.
type Limit string

// The limits.
const (
	LimitRounds  Limit = "rounds"
	LimitCalls   Limit = "calls"
	LimitTime    Limit = "time"
	LimitTokens  Limit = "tokens"
	LimitRepeats Limit = "repeats" // the same failing calls again and again
	LimitSize    Limit = "size"    // of the conversation, 64 MiB beyond the request; no setting
)

// LimitError says which limit ended a run.
type LimitError struct {
	Limit Limit
	Max   string // the limit's value
}

// Error says it in a sentence.
func (e *LimitError) Error() string {
	switch e.Limit {
	case LimitRounds:
		return fmt.Sprintf("the run ended: the model was asked %s times, which is the limit, and still wanted to call tools", e.Max)
	case LimitCalls:
		return fmt.Sprintf("the run ended: the model wanted to call more tools than the limit of %s calls", e.Max)
	case LimitTime:
		return fmt.Sprintf("the run ended: it took longer than its limit of %s", e.Max)
	case LimitTokens:
		return fmt.Sprintf("the run ended: it used more tokens than its limit of %s", e.Max)
	case LimitSize:
		return fmt.Sprintf("the run ended: what the model wrote and its tools answered has more than the limit of %s bytes", e.Max)
	}
	return fmt.Sprintf("the run ended: the model repeated the same failing calls after %s failures", e.Max)
}

// reached returns the limit that keeps the run from making these calls.
func (r *Run) reached(calls []provider.Call) *LimitError {
	switch l := r.limits; {
	case r.used.Rounds >= l.Rounds:
		return &LimitError{LimitRounds, strconv.Itoa(l.Rounds)}
	case r.used.Calls+len(calls) > l.Calls:
		return &LimitError{LimitCalls, strconv.Itoa(l.Calls)}
	case tokens(r.used.Usage) >= l.Tokens:
		return &LimitError{LimitTokens, strconv.Itoa(l.Tokens)}
	case r.bytes > maxBytes:
		return &LimitError{LimitSize, strconv.Itoa(maxBytes)}
	case r.repeats.hopeless(calls):
		return &LimitError{LimitRepeats, strconv.Itoa(maxFailures)}
	}
	return nil
}

// bytesOf counts what blocks say. What only their API knows is not more than
// that, about.
func bytesOf(blocks []provider.Block) int {
	n := 0
	for _, b := range blocks {
		n += len(b.Text) + len(b.Image.Data) + len(b.Call.Name) + len(b.Call.Args)
		if b.Kind == provider.Opaque {
			n += len(b.Raw)
		}
		n += bytesOf(b.Answer.Content)
	}
	return n
}

// tokens counts what was read and written. Input holds what came from a cache.
func tokens(u provider.Usage) int { return u.Input + u.Output }
