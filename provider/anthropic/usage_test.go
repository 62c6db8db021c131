package anthropic_test

import (
	"fmt"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
)

// Counts that no model could have neither pass for none, which would evade a
// limit, nor overflow, nor take away from the others.
func TestUsageIsBounded(t *testing.T) {
	const most = 1 << 40
	for usage, want := range map[string]provider.Usage{
		`{"input_tokens":3,"output_tokens":7}`:                                                                       {Input: 3, Output: 7},
		`{"input_tokens":9223372036854775807,"output_tokens":9223372036854775808}`:                                   {Input: most, Output: most},
		`{"input_tokens":1e300,"output_tokens":1e400}`:                                                               {Input: most, Output: most},
		`{"input_tokens":1e400,"cache_read_input_tokens":1e400,"cache_creation_input_tokens":2,"output_tokens":7.0}`: {Input: 2*most + 2, CacheRead: most, CacheWrite: 2, Output: 7},
		`{"input_tokens":-5000000,"output_tokens":7}`:                                                                {Output: 7},
		`{"input_tokens":-1e400,"output_tokens":7}`:                                                                  {Output: 7},
		`{"input_tokens":"many","output_tokens":7}`:                                                                  {Output: 7},
		`{"input_tokens":null,"output_tokens":7}`:                                                                    {Output: 7},
	} {
		body := fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":%s}`, usage)
		r, err := anthropic.Messages().DecodeResponse([]byte(body))
		if err != nil || r.Usage != want {
			t.Errorf("%s: %+v, %v; want %+v", usage, r, err, want)
		}
		d := anthropic.Messages().NewStreamDecoder()
		for _, f := range []string{
			`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":` + usage + `}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}`, `{"type":"message_stop"}`,
		} {
			if _, err := d.Frame(provider.Frame{Data: []byte(f)}); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
		}
		if r, err = d.Response(); err != nil || r.Usage != want {
			t.Errorf("streamed, %s: %+v, %v; want %+v", usage, r, err, want)
		}
	}
}

// A whole number may be written with a point, as some clients do.
func TestWholeMaxTokens(t *testing.T) {
	for _, wire := range []string{"1000", "1000.0", "1e3"} {
		if r := decode(t, `{"model":"m","max_tokens":`+wire+`,"messages":[{"role":"user","content":"x"}]}`); r.Params.MaxTokens != 1000 {
			t.Errorf("%s is read as %d", wire, r.Params.MaxTokens)
		}
	}
}
