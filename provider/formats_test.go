package provider_test

import (
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// formats are those that a client and the mock are tested with.
func formats() []provider.Format {
	return []provider.Format{openai.Chat(), openai.Responses(), anthropic.Messages()}
}
