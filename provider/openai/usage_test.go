package openai_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// Counts that no model could have neither overflow nor take away from the others.
func TestUsageIsBounded(t *testing.T) {
	const most = 1 << 40
	for usage, want := range map[string]provider.Usage{
		`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`:              {Input: most, Output: most},
		`{"prompt_tokens":9223372036854775807,"input_tokens":9223372036854775807}`:                   {Input: 2 * most},
		`{"prompt_tokens":1e400,"completion_tokens":7}`:                                              {Input: most, Output: 7},
		`{"prompt_tokens":-5000000,"completion_tokens":7}`:                                           {Output: 7},
		`{"prompt_tokens":-1e400,"completion_tokens":7}`:                                             {Output: 7},
		`{"prompt_tokens":"many","completion_tokens":7}`:                                             {Output: 7},
		`{"prompt_tokens":null,"completion_tokens":7}`:                                               {Output: 7},
		`{"prompt_tokens":3,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":-1}}`:     {Input: 3, Output: 7},
		`{"prompt_tokens":3,"completion_tokens":7,"prompt_tokens_details":{"cache_write_tokens":2}}`: {Input: 3, Output: 7, CacheWrite: 2},
	} {
		r, err := openai.Chat().DecodeResponse([]byte(`{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":` + usage + `}`))
		if err != nil {
			t.Errorf("%s: %v", usage, err)
		} else if r.Usage != want {
			t.Errorf("%s: %+v, want %+v", usage, r.Usage, want)
		}
		r, err = openai.Responses().DecodeResponse([]byte(`{"id":"1","model":"m","status":"completed","output":[],"usage":` + usage + `}`))
		if err != nil {
			t.Errorf("%s: %v", usage, err)
		} else if r.Usage != want {
			t.Errorf("%s at Responses: %+v, want %+v", usage, r.Usage, want)
		}
	}
}
