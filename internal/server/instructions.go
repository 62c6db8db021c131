package server

import (
	_ "embed"
	"strings"
)

//go:embed instructions.md
var instructionsText string

// instructions is what every client is told. Clients cut it at 2 KB.
func instructions() string { return strings.TrimSpace(instructionsText) }
