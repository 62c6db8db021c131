package mock

import (
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

func allFormats() []provider.Format { return []provider.Format{openai.Chat()} }
