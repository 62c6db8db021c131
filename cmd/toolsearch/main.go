// Command toolsearch gives any agent any number of tools for the price of
// three: as an MCP gateway, and from the command line.
package main

import (
	"os"

	"github.com/toolsearch/toolsearch/code/child"
	"github.com/toolsearch/toolsearch/internal/cli"
)

func main() {
	child.Main() // a re-executed child of code mode does not return from here
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
