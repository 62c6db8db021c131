// Command cgo is a child in a program that uses cgo, through os/user when cgo is
// enabled. It cannot confine itself and must refuse to run.
package main

import (
	"os/user"

	"github.com/toolsearch/toolsearch/code/child"
)

func main() {
	child.Main()
	_, _ = user.Current()
}
