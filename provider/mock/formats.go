package mock

import (
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// allFormats are the APIs that a script speaks when it names none.
func allFormats() []provider.Format {
	return []provider.Format{openai.Chat(), openai.Responses(), anthropic.Messages()}
}
