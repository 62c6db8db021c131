// Package core is the source of the product's own tools: read, write, edit,
// list and grep inside one workspace folder, exec, web_fetch and image.
//
// # The wall
//
// File tools reach files only through an os.Root opened on the workspace, so
// that the kernel, and not a check of ours, keeps every path inside: a symbolic
// link that leads outside is refused whether it was there before the call or
// was put there during it. Only regular files are opened; FIFOs, sockets and
// devices are refused without waiting for them. Hard links are files like any
// other: the wall cannot tell one that was made from outside.
//
// exec is not behind the wall. It starts in the workspace with a small
// environment, but runs with the rights of this process; policy and approval
// decide whether it runs at all.
//
// web_fetch talks to public addresses only. The address is checked when the
// socket is about to connect, so that neither DNS nor a redirect can lead it
// into a private network.
//
// # Failures
//
// Every invoker answers a failure of its own, such as a missing file, with a
// Result that has IsError set and holds a tool.Error. Arguments that do not
// decode and cancelled calls are returned as a *tool.Error.
package core

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolsearch/toolsearch/tool"
)

// Options configure a Source.
type Options struct {
	// Workspace is the folder that the file tools work in and exec starts in.
	// It must exist.
	Workspace string
	// Limits bound what the tools read, write and wait for.
	Limits Limits
	// Env holds "NAME=value" entries that commands see beside the small
	// environment of exec. They win over it.
	Env []string
	// Rules are files that say what the program may do: a file name alone means
	// every file of that name, whatever the case of its letters, a path that file.
	// write and edit refuse them, so that a model does not give itself leave.
	Rules []string
	// FetchPorts are ports that web_fetch may connect to beside 80 and 443; at
	// most 64.
	FetchPorts []uint16
	// Resolver looks up the hosts of web_fetch. Nil is net.DefaultResolver.
	Resolver *net.Resolver
	// AllowAddress is asked about an address that web_fetch would refuse, and
	// lets the connection go on by returning true. It exists so that tests can
	// serve from the loopback interface. Nil allows nothing.
	AllowAddress func(netip.AddrPort) bool
}

// Source holds the core tools of one workspace. It is safe for concurrent use.
type Source struct {
	workspace string // absolute, as the caller spelled it
	real      string // absolute, with symbolic links resolved
	root      *os.Root
	limits    Limits
	env       []string
	rules     []string
	dialer    guard
	transport *http.Transport
	tools     []*tool.Tool

	// writing holds one token. write and edit take it, so that two edits of one
	// file in one process cannot lose one another.
	writing chan struct{}

	base   context.Context // ends when the source is closed
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed and adding to calls
	closed bool
	calls  sync.WaitGroup
}

// errClosed is the cause of calls that end because the source is closed.
var errClosed = errors.New("the core tools are closed")

// New opens the workspace. The caller must Close the source.
func New(opt Options) (*Source, error) {
	limits, err := opt.Limits.resolve()
	if err != nil {
		return nil, fmt.Errorf("core tools: %w", err)
	}
	if opt.Workspace == "" {
		return nil, errors.New("core tools: no workspace folder was given; name the folder that the file tools may use")
	}
	if len(opt.FetchPorts) > 64 {
		return nil, fmt.Errorf("core tools: %d extra ports for web_fetch, at most 64 are allowed", len(opt.FetchPorts))
	}
	workspace, err := filepath.Abs(opt.Workspace)
	if err != nil {
		return nil, fmt.Errorf("core tools: workspace %q: %w", opt.Workspace, err)
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, fmt.Errorf("core tools: open workspace %q: %w", workspace, err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("core tools: open workspace %q: %w", workspace, err)
	}
	s := &Source{
		workspace: workspace,
		real:      real,
		root:      root,
		limits:    limits,
		env:       append([]string(nil), opt.Env...),
		rules:     append([]string(nil), opt.Rules...),
		dialer:    newGuard(opt),
		writing:   make(chan struct{}, 1),
	}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.transport = newTransport(s.dialer)
	if s.tools, err = s.define(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Tools returns the tools in a fixed order. The slice is the caller's; the
// tools are shared and must not be changed.
func (s *Source) Tools() []*tool.Tool { return append([]*tool.Tool(nil), s.tools...) }

// Close stops running calls, waits for them, and closes the workspace. Calls
// made afterwards are refused. Closing twice is harmless.
func (s *Source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.calls.Wait()
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if err := s.root.Close(); err != nil {
		return fmt.Errorf("core tools: close workspace: %w", err)
	}
	return nil
}

// enter registers a call and ties ctx to the life of the source. leave must be
// called when the call is over.
func (s *Source) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	s.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.base, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.calls.Done()
	}, nil
}

// lockWrites waits for the right to change files, or for ctx.
func (s *Source) lockWrites(ctx context.Context) (unlock func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
