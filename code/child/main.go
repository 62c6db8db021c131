// Package child is the confined side of code mode. A program that wants code
// mode calls [Main] as the first statement of its main function; the runner of
// package code then re-executes the program, and Main takes over.
//
// The package links the JavaScript engine. It is separate from package code so
// that a program which never runs code does not pay for the engine's start.
package child

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/toolsearch/toolsearch/code/internal/guest"
	"github.com/toolsearch/toolsearch/code/internal/lockdown"
	"github.com/toolsearch/toolsearch/code/internal/reexec"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// Exit codes of a child that ends on its own account.
const (
	exitDone    = 0
	exitRefused = 3 // not started by a runner, or not confined
	exitBroken  = 4 // the bridge or the engine failed
)

// Main never returns in a re-executed child. In any other process it returns
// at once and records that runners may re-execute this program.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != reexec.Arg {
		reexec.Enable()
		return
	}
	runtime.LockOSThread() // the parent-death signal belongs to a thread: the main one, which never ends
	code, err := run(os.Args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "toolsearch code child: %v\n", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	var cfg wire.Config
	if len(args) != 1 {
		return exitRefused, fmt.Errorf("started with %d arguments: only a runner starts this process", len(args))
	}
	if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
		return exitRefused, fmt.Errorf("read configuration: %w", err)
	}
	options := lockdown.Options{Parent: cfg.Parent, CPUSeconds: cfg.CPUSeconds, MemoryBytes: cfg.MemoryBytes, Kill: cfg.Kill}
	if cfg.Runtime == "node" {
		return exitRefused, becomeNode(cfg, options)
	}
	in, out := wire.ChildFiles()
	layers, err := lockdown.Apply(options)
	if err != nil {
		return exitRefused, fmt.Errorf("lock down: %w", err)
	}
	runtime.UnlockOSThread() // a locked goroutine is slower to wake
	engine, err := newEmbedded(cfg.MemoryBytes)
	if err != nil {
		return exitBroken, err
	}
	b := newBridge(in, out)
	if err := engine.Boot(guest.Prelude, b); err != nil {
		return exitBroken, err
	}
	return b.serve(engine, wire.ReadyMessage{Protocol: wire.Version, Engine: engine.Name(), Layers: layers})
}
