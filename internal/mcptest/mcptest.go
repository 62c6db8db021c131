// Package mcptest gives tests real MCP servers to talk to: scripted ones that
// run as child processes of the test binary itself and can misbehave in every
// way, and published ones from npm.
//
// A test package that uses scripted servers hands its TestMain to Main:
//
//	func TestMain(m *testing.M) { mcptest.Main(m) }
package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// childArg as the first argument makes the test binary a server.
const childArg = "mcptest-serve"

// grandchildArg makes it a process that holds a connection until it dies.
const grandchildArg = "mcptest-hold"

// Script says how a scripted server behaves. The zero value is a well-behaved
// server of the older era without tools. Besides Tools, every server answers
// calls of the tools in the list of Builtin tools, listed or not.
type Script struct {
	Name string // as it introduces itself, "scripted" if empty

	// Modern makes it a server of the 2026-07-28 era; otherwise it knows
	// initialize only.
	Modern bool

	Tools []json.RawMessage // listed in this order
	// ToolsFile names a file with one more definition, for one that is too long
	// for a command line.
	ToolsFile string
	Generate  int // lists that many tools, gen_0 and so on, in addition
	PageSize  int // tools per page, 0 = all on one
	Results   map[string]json.RawMessage

	// Start is what it does instead of, or before, serving.
	Start StartMode
	// Once names a file: the Start mode applies only while it does not exist,
	// and it is created then. So a server can fail once and then work.
	Once string
	// List is how it answers tools/list.
	List ListMode
	// Stderr is printed to stderr at the start.
	Stderr string
	// Banner is what StartBanner prints, a line of its own if empty.
	Banner string
	// ListRefusal is the message of ListError, one of its own if empty.
	ListRefusal string
	// Gate is the address of a listener: with StartGated the server dials it and
	// serves only when it gets a byte.
	Gate string
	// Deaf makes it stop reading its stdin once it has answered tools/list.
	Deaf bool
	// StubbornExit makes it ignore the end of its stdin and SIGTERM.
	StubbornExit bool
}

// StartMode is a way to begin.
type StartMode string

// The ways to begin.
const (
	StartNormal    StartMode = ""
	StartGarbage   StartMode = "garbage"    // prints text for ever
	StartBanner    StartMode = "banner"     // prints a line of text, then serves
	StartSilent    StartMode = "silent"     // reads and never answers
	StartExit      StartMode = "exit"       // ends with status 3
	StartHuge      StartMode = "huge"       // sends a line of 100 MB
	StartGated     StartMode = "gated"      // waits for Gate, then serves
	StartNoProbe   StartMode = "no-probe"   // ignores server/discover
	StartProbeDies StartMode = "probe-dies" // ends when it sees server/discover
	StartFlood     StartMode = "flood"      // floods stderr, then serves
)

// ListMode is a way to answer tools/list.
type ListMode string

// The ways to answer tools/list.
const (
	ListNormal       ListMode = ""
	ListRepeatCursor ListMode = "repeat-cursor" // every page has the same cursor
	ListEndless      ListMode = "endless"       // every page has a new cursor
	ListHangs        ListMode = "hangs"
	ListError        ListMode = "error"
	ListDies         ListMode = "dies"
)

// Main runs the tests, or the server when the binary was started as one. It
// does not return.
func Main(m *testing.M) {
	ServeIfChild()
	os.Exit(m.Run())
}

// ServeIfChild does not return when the binary was started as a server. It is
// for a TestMain that has more to do than Main.
func ServeIfChild() {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case childArg:
		var s Script
		if err := json.Unmarshal([]byte(os.Args[2]), &s); err != nil {
			fmt.Fprintln(os.Stderr, "mcptest: read script:", err)
			os.Exit(2)
		}
		serve(&s)
		os.Exit(0)
	case grandchildArg:
		hold(os.Args[2])
		os.Exit(0)
	}
}

// Command returns the command line that runs the script, and the environment
// that it wants: a binary with the race detector would linger for a second when
// it ends.
func Command(t testing.TB, s Script) (command string, args, env []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("marshal script: %v", err)
	}
	return exe, []string{childArg, string(raw)}, []string{"GORACE=atexit_sleep_ms=0"}
}
