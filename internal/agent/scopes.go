package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/surface"
)

const (
	maxScopes = 64  // sets of rules whose plan is kept
	maxKinds  = 512 // kinds of run whose rules are kept
	// maxKindBytes bounds the names of a kind whose rules are kept: a provider
	// without a list takes any model's name.
	maxKindBytes = 512
)

// Rules are what holds for a kind of run.
type Rules struct {
	toolsearch.ScopeOptions
	// Likely shows tools that the message is probably about, in mode Directory.
	Likely bool
}

// ruled is a scope, and what else holds in it.
type ruled struct {
	*toolsearch.Scope
	likely bool
}

// Kind is what decides which rules hold for a run.
type Kind struct {
	config.Who    // NativeToolSearch also when the model's API searches
	Provider      string
	Model         string // as its API calls it
	ContextTokens int    // 0 when not known
}

// scopeKey stands for the rules of a scope. Many kinds of run have the same: a
// caller that makes up names of models must not have the tools planned for each.
type scopeKey struct {
	policy                   string // its fingerprint
	mode                     surface.Mode
	limits                   catalog.Limits
	nameLimit, contextTokens int
	required                 string
}

func keyOf(o toolsearch.ScopeOptions) scopeKey {
	k := scopeKey{policy: o.Policy.Fingerprint(), mode: o.Mode, limits: o.Limits, nameLimit: o.NameLimit, contextTokens: o.ContextTokens}
	if o.Required != nil { // none is not the same as those of the toolset
		var b strings.Builder
		for _, r := range o.Required {
			fmt.Fprintf(&b, "%q,", r)
		}
		k.required = "=" + b.String()
	}
	return k
}

// Scope is the tools under the rules for whoever asks, for calls without a model.
func (r *Runtime) Scope(ctx context.Context, who config.Who) (*toolsearch.Scope, error) {
	s, err := r.scope(ctx, Kind{Who: who})
	return s.Scope, err
}

// scope returns the tools under the rules of a kind of run. To plan them may take
// a while: meanwhile runs under other rules go on. Rules that leave nothing are an
// error, once the servers have started that could bring what they name.
func (r *Runtime) scope(ctx context.Context, k Kind) (ruled, error) {
	rules, err := r.rulesFor(ctx, k)
	if err != nil {
		return ruled{}, err
	}
	scope, err := r.scopes.get(ctx, keyOf(rules.ScopeOptions), func() (*toolsearch.Scope, error) {
		scope, err := r.opt.Tools.Scope(context.WithoutCancel(ctx), rules.ScopeOptions)
		if err != nil {
			return nil, fmt.Errorf("plan the tools of a run: %w", err)
		}
		for _, w := range scope.Warnings() {
			r.opt.Logger.Warn(w)
		}
		return scope, nil
	})
	if err == nil {
		err = scope.Settle(ctx)
	}
	return ruled{scope, rules.Likely}, err
}

func (r *Runtime) rulesFor(ctx context.Context, k Kind) (Rules, error) {
	find := func() (Rules, error) {
		rules, err := r.opt.Rules(k)
		if err != nil {
			return Rules{}, fmt.Errorf("find the rules of a run: %w", err)
		}
		if k.NativeToolSearch {
			rules.Mode = surface.Off
		}
		return rules, nil
	}
	if len(k.Agent)+len(k.Sender)+len(k.Group)+len(k.Provider)+len(k.Model) > maxKindBytes {
		return find()
	}
	return r.rules.get(ctx, k, find)
}

// shared keeps what is made once for each key, however many wait for it. What
// fails is not kept. It is safe for concurrent use.
type shared[K comparable, V any] struct {
	drop func(V) // ends what has given way to others; may be nil

	mu   sync.Mutex
	kept *simplelru.LRU[K, *entry[V]]
}

type entry[V any] struct {
	made  chan struct{} // closed when the rest is written
	value V
	err   error
}

// newShared keeps so many values, at least 1.
func newShared[K comparable, V any](most int, drop func(V)) (*shared[K, V], error) {
	s := &shared[K, V]{drop: drop}
	var err error
	s.kept, err = simplelru.NewLRU(most, func(_ K, e *entry[V]) { s.end(e) })
	return s, err
}

// end lets go of a value. One that is being made is let go by who makes it.
func (s *shared[K, V]) end(e *entry[V]) {
	select {
	case <-e.made:
		if e.err == nil && s.drop != nil {
			s.drop(e.value)
		}
	default:
	}
}

// get returns the value of a key, and makes it if there is none. Whoever waits
// for another's making may give up.
func (s *shared[K, V]) get(ctx context.Context, k K, produce func() (V, error)) (V, error) {
	s.mu.Lock()
	e, known := s.kept.Get(k)
	if !known {
		e = &entry[V]{made: make(chan struct{}), err: errGivenUp}
		s.kept.Add(k, e)
	}
	s.mu.Unlock()
	if !known {
		s.fill(k, e, produce)
	}
	select {
	case <-e.made:
		return e.value, e.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

var errGivenUp = errors.New("prepare a run: it was given up")

// fill makes a value. A panic counts as a failure for those that wait.
func (s *shared[K, V]) fill(k K, e *entry[V], produce func() (V, error)) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(e.made)
		if kept, ok := s.kept.Peek(k); !ok || kept != e {
			s.end(e) // so many came meanwhile
		} else if e.err != nil {
			s.kept.Remove(k)
		}
	}()
	e.value, e.err = produce()
}
