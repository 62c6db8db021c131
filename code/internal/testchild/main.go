// Command testchild is the smallest program that can be a runner's child. Tests
// build it without cgo, which the race detector would force on their own binary,
// and give it other names to make it misbehave.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/code/child"
)

// opened stands for a package that opens a file before main, as some do: the
// runtime's poller is in use by then, and must outlive the lockdown.
var opened, _ = os.Open(os.DevNull)

func main() {
	defer opened.Close()
	// The name is the file's: a runner decides the arguments and the environment.
	path, err := os.Executable()
	if err != nil {
		os.Exit(9)
	}
	name := filepath.Base(path)
	if len(os.Args) > 2 {
		if fake, ok := strings.CutPrefix(name, "fake-"); ok {
			misbehave(fake)
			return
		}
		if name == "probe" {
			probe(os.Args[2])
			return
		}
	}
	child.Main()
	if len(os.Args) > 1 && os.Args[1] == "parent" {
		parent()
	}
	if len(os.Args) > 1 && os.Args[1] == "echo" {
		echo()
	}
}
