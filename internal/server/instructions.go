package server

import (
	"embed"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/surface"
)

// maxInstructions is the most bytes that a client is told: clients cut what is
// longer, at 2 KB.
const maxInstructions = 2048

//go:embed instructions*.md
var instructionTexts embed.FS

func instructionText(name string) string {
	b, err := instructionTexts.ReadFile(name)
	if err != nil { // embedded at build time; a test reads each
		panic(fmt.Sprintf("server: %v", err))
	}
	return strings.TrimSpace(string(b))
}

// instructions is what a client is told to put before its model: how to use
// what the view shows, and as much of a listing as fits. It depends on the tools
// alone. Where tools are passed through it is empty.
func instructions(v *surface.View) string {
	if v == nil {
		return ""
	}
	switch v.Mode {
	case surface.Tools:
		return instructionText("instructions.md")
	case surface.Code:
		return instructionText("instructions_code.md")
	case surface.Directory:
		text := instructionText("instructions_directory.md")
		if listing := listingWithin(v.Catalog, maxInstructions-len(text)-2); listing != "" {
			text += "\n\n" + listing
		}
		return text
	}
	return ""
}

// listingWithin is the longest listing of at most that many bytes that a budget
// in characters leads to.
func listingWithin(c *catalog.Catalog, room int) string {
	for budget := room; budget > 0; {
		text := c.Directory(budget).Text
		if len(text) <= room {
			return text
		}
		budget = min(budget-1, budget*room/len(text))
	}
	return ""
}
