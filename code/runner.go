package code

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/code/internal/lockdown"
	"github.com/toolsearch/toolsearch/code/internal/reexec"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// Runtimes.
const (
	RuntimeEmbedded = "embedded" // the engine inside this program: the default
	RuntimeNode     = "node"     // a node binary, version 25 or later
)

// SeccompEnv is the environment variable that makes a forbidden system call kill
// the child instead of failing, when its value is "kill". Tests use it.
const SeccompEnv = "TOOLSEARCH_CODE_SECCOMP"

// Options configure a Runner. The zero value is usable.
type Options struct {
	Runtime     string       // RuntimeEmbedded by default
	NodePath    string       // the node binary; found in PATH by default
	Limits      Limits       // of every run
	MaxChildren int          // runs at once: one per core by default, at most 256
	Warm        int          // confined children kept waiting: 1 by default, none if negative, at most 8
	Logger      *slog.Logger // nothing is logged by default
	// Executable is the binary to start as a child, one whose main function
	// begins with child.Main. It is this program by default; a program that is
	// built with cgo cannot confine itself and needs another.
	Executable string
}

// Runner runs bodies in confined children. It is safe for concurrent use.
type Runner struct {
	limits     Limits
	config     wire.Config
	executable string
	logger     *slog.Logger
	spawner    *spawner
	slots      *slots
	pool       *pool
	layers     []Layer
	engine     string

	mu      sync.Mutex
	closed  bool
	runs    sync.WaitGroup
	paused  int
	closing chan struct{}
}

// Layer is one part of a child's confinement.
type Layer struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
	Why  string `json:"why,omitempty"` // how it is on, or why it is not
}

// Enabled reports whether this program can be re-executed as a child: whether
// its main function began with child.Main.
func Enabled() bool { return reexec.Enabled() }

// ErrNotEnabled says that the program's main function does not begin with
// child.Main, of package code/child.
var ErrNotEnabled = errors.New("this program cannot run code: its main function does not begin with child.Main()")

// New starts a runner and its first child. It fails when no isolated runtime
// can start here; the caller then does without code mode.
func New(ctx context.Context, o Options) (*Runner, error) {
	if o.Executable == "" && !Enabled() {
		return nil, ErrNotEnabled
	}
	r := &Runner{limits: o.Limits.clamped(), logger: o.Logger, closing: make(chan struct{})}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	if err := r.configure(ctx, o); err != nil {
		return nil, fmt.Errorf("start code runner: %w", err)
	}
	r.spawner = newSpawner()
	children := clamp(o.MaxChildren, runtime.NumCPU(), 1, 256)
	r.slots = &slots{free: children}
	r.pool = newPool(r, clamp(o.Warm, 1, 0, 8))
	first, err := r.pool.start(ctx)
	if err == nil {
		err = r.inspect(first.hello)
	}
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("start code runner: %w", err)
	}
	r.pool.keep(first)
	return r, nil
}

// configure decides what children are told.
func (r *Runner) configure(ctx context.Context, o Options) error {
	path, err := o.Executable, error(nil)
	if path == "" {
		if path, err = selfPath(); err != nil {
			return fmt.Errorf("find this program's binary: %w", err)
		}
	}
	r.executable = path
	r.config = wire.Config{
		Runtime:     o.Runtime,
		Parent:      os.Getpid(),
		CPUSeconds:  uint64((r.limits.Timeout+time.Second-1)/time.Second) + 1,
		MemoryBytes: uint64(r.limits.MemoryBytes),
		Kill:        os.Getenv(SeccompEnv) == "kill",
	}
	switch o.Runtime {
	case "", RuntimeEmbedded:
		r.config.Runtime = RuntimeEmbedded
	case RuntimeNode:
		if r.config.Node, err = findNode(ctx, o.NodePath); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown runtime %q: it is %q or %q", o.Runtime, RuntimeEmbedded, RuntimeNode)
	}
	return nil
}

// inspect refuses a child that lacks a layer without which nothing may run.
func (r *Runner) inspect(hello wire.ReadyMessage) error {
	r.engine = hello.Engine
	for _, l := range hello.Layers {
		r.layers = append(r.layers, Layer(l))
	}
	for _, name := range lockdown.Required() {
		i := slices.IndexFunc(r.layers, func(l Layer) bool { return l.Name == name })
		if i < 0 || !r.layers[i].On {
			why := "it did not report it"
			if i >= 0 {
				why = r.layers[i].Why
			}
			return fmt.Errorf("the child is not confined: layer %s is off: %s", name, why)
		}
	}
	return nil
}

// Layers says how children are confined here.
func (r *Runner) Layers() []Layer { return slices.Clone(r.layers) }

// Engine names the JavaScript engine and its version.
func (r *Runner) Engine() string { return r.engine }

// Close ends every run and every child and waits until they are gone.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	r.mu.Unlock()
	r.runs.Wait()
	r.pool.close()
	r.spawner.stop()
	return nil
}

// enter counts a run in, unless the runner is closed.
func (r *Runner) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.runs.Add(1)
	return true
}
