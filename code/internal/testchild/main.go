// Command testchild is the smallest program that can be a runner's child. Tests
// build it without cgo, which the race detector would force on their own binary.
package main

import "github.com/toolsearch/toolsearch/code/child"

func main() { child.Main() }
