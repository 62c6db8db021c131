package provider_test

import (
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

func formats() []provider.Format { return []provider.Format{openai.Chat(), openai.Responses()} }
