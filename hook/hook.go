package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/tool"
)

// Timeouts of a hook. The time runs from the moment the hook is due, waiting for
// its turn included.
const (
	DefaultTimeout = 5 * time.Second
	MinTimeout     = 50 * time.Millisecond
	MaxTimeout     = 60 * time.Second
)

// MaxHooks bounds the hooks of a Set.
const MaxHooks = 64

// Hook is one hook of a Set.
type Hook struct {
	// Name is what refusals name: 1 to 64 letters, digits, '_', '-' and '.', unique
	// in its Set.
	Name  string
	Event Event
	// Tools lists the tools the hook is asked about, as policy's deny lists do:
	// names, ids, groups, plugins and servers, with '*' as a wildcard and without
	// regard to case. Empty means every tool. Where it is doubtful whether an entry
	// means a tool, the hook is asked.
	Tools []policy.Entry
	// Timeout bounds the answer; 0 means DefaultTimeout. Outside of MinTimeout to
	// MaxTimeout is an error.
	Timeout time.Duration
	Runner  Runner
}

// Runner asks one hook: Command, HTTP and Func make them. An error blocks, as does
// a Decision that makes no sense for the event. A Runner that is an io.Closer is
// closed with its Set. It is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, in *Input) (Decision, error)
}

// Asker asks a person for approval. It returns nil when the call as r describes
// it was approved, and an error that is or wraps a *tool.Error otherwise. It must
// not block for ever: where nobody can be asked it refuses at once.
type Asker interface {
	Ask(ctx context.Context, r call.Request, reason string) error
}

// AskerFunc is an Asker made of a function.
type AskerFunc func(ctx context.Context, r call.Request, reason string) error

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, r call.Request, reason string) error {
	return f(ctx, r, reason)
}

// Set is an ordered list of hooks. It is immutable and safe for concurrent use.
type Set struct {
	hooks         []*hook
	before, after []*hook
	asker         Asker
}

// hook is a Hook, compiled.
type hook struct {
	Hook
	spares *policy.Policy // allows the tools the hook is not asked about; nil when there is none
}

// New makes a Set. The asker may be nil: then a hook that asks for approval
// blocks. Warnings name entries of Tools that can match nothing.
func New(hooks []Hook, asker Asker) (*Set, []policy.Warning, error) {
	if len(hooks) > MaxHooks {
		return nil, nil, fmt.Errorf("set up hooks: %d are more than %d", len(hooks), MaxHooks)
	}
	s := &Set{asker: asker}
	var warnings []policy.Warning
	seen := map[string]bool{}
	for _, h := range hooks {
		compiled, warned, err := compile(h)
		if err == nil && seen[h.Name] {
			err = errors.New("another hook has this name")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("set up hook %q: %w", h.Name, err)
		}
		seen[h.Name] = true
		warnings = append(warnings, warned...)
		s.hooks = append(s.hooks, compiled)
		if h.Event == Before {
			s.before = append(s.before, compiled)
		} else {
			s.after = append(s.after, compiled)
		}
	}
	return s, warnings, nil
}

// ValidName reports what may be the Name of a Hook.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("_-.", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func compile(h Hook) (*hook, []policy.Warning, error) {
	switch {
	case !ValidName(h.Name):
		return nil, nil, errors.New("a name is 1 to 64 letters, digits, '_', '-' and '.'")
	case h.Event != Before && h.Event != After:
		return nil, nil, fmt.Errorf("the event %q is unknown; use %q or %q", h.Event, Before, After)
	case h.Runner == nil:
		return nil, nil, errors.New("it has nothing to run")
	}
	if h.Timeout == 0 {
		h.Timeout = DefaultTimeout
	}
	if h.Timeout < MinTimeout || h.Timeout > MaxTimeout {
		return nil, nil, fmt.Errorf("the timeout %v is not between %v and %v", h.Timeout, MinTimeout, MaxTimeout)
	}
	h.Runner = guarded{h.Runner}
	if len(h.Tools) == 0 {
		return &hook{Hook: h}, nil, nil
	}
	// A deny list matches at least what an allow list does, also names that only
	// look alike. That is the reading for a guard.
	layer := policy.Layer{Scope: policy.ScopeRun, Name: "hook " + h.Name, Rules: policy.Rules{Deny: h.Tools}}
	spares, warnings, err := policy.Compile([]policy.Layer{layer})
	if err != nil {
		return nil, nil, err
	}
	return &hook{Hook: h, spares: spares}, warnings, nil
}

func (h *hook) matches(t *tool.Tool) bool { return h.spares == nil || !h.spares.Allows(t) }

// guarded is a Runner whose panic is an error, which blocks, and does not end the
// program.
type guarded struct{ Runner }

// Run implements Runner.
func (g guarded) Run(ctx context.Context, in *Input) (d Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = Decision{}, &failure{what: "it panicked", err: fmt.Errorf("panic in a hook: %v\n%s", p, debug.Stack())}
		}
	}()
	return g.Runner.Run(ctx, in)
}

// Close closes the Runner, if it can be.
func (g guarded) Close() error {
	if c, ok := g.Runner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Close releases what the hooks hold. Calls that run fail.
func (s *Set) Close() error {
	var errs []error
	for _, h := range s.hooks {
		if c, ok := h.Runner.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
