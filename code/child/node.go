package child

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolsearch/toolsearch/code/internal/guest"
	"github.com/toolsearch/toolsearch/code/internal/lockdown"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// becomeNode locks the process down and replaces it with node. It returns only
// an error.
func becomeNode(cfg wire.Config, options lockdown.Options) error {
	program, layers, err := lockdown.ApplyProgram(options, cfg.Node)
	if err != nil {
		return fmt.Errorf("lock down: %w", err)
	}
	layers = append(layers, wire.Layer{Name: "node-permissions", On: true, Why: "--permission without a grant, frozen intrinsics, no code from strings"})
	raw, err := json.Marshal(layers)
	if err != nil {
		return fmt.Errorf("start node: %w", err)
	}
	prelude, err := json.Marshal(guest.Prelude)
	if err != nil {
		return fmt.Errorf("start node: %w", err)
	}
	heap := strconv.FormatUint(cfg.MemoryBytes>>20, 10)
	return program.Exec([]string{
		"node",
		"--permission",
		"--disallow-code-generation-from-strings",
		"--frozen-intrinsics",
		"--no-warnings",
		"--disable-wasm-trap-handler", // it reserves address space by the terabyte
		"--openssl-config=/dev/null",
		"--max-old-space-size=" + heap,
		"--max-semi-space-size=8",
		"--v8-pool-size=1",
		"-e", guest.Node + "(" + string(prelude) + "," + string(raw) + ")",
	})
}
