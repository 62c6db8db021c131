// Command toolsearch gives any agent any number of tools for the price of
// three: as an MCP gateway, and from the command line.
package main

import (
	"os"

	"github.com/toolsearch/toolsearch/internal/cli"
)

func main() {

	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
