package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolsearch/toolsearch/code/child"
	"github.com/toolsearch/toolsearch/internal/cli"
	"github.com/toolsearch/toolsearch/internal/mcptest"
)

// asProgram makes the test binary run as toolsearch itself, so that tests drive
// a real process.
const asProgram = "TOOLSEARCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	child.Main()
	mcptest.ServeIfChild()
	run := func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
	if os.Getenv(asProgram) != "" {
		run()
	}
	testscript.Main(m, map[string]func(){"toolsearch": run})
}
