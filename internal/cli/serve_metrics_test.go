package cli_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
	"github.com/toolsearch/toolsearch/provider/openai"
)

// The server tells Prometheus what its agents searched and called, and tells it
// only to a key that is for it: the names of tools are not for those that are denied them.
func TestServeMetrics(t *testing.T) {
	s, _ := startServe(t, mock.Agent())
	s.ask(openai.Chat(), ciKey, &provider.Request{Model: "chat/m", Messages: userSays(`How is it? target=echo args={"city":"Oslo"} query="weather forecast" query="xylophone"`)})
	scrape := func(key string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	code, text := scrape(ciKey)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, text)
	}
	for _, want := range []string{
		"\ntoolsearch_searches_total 2\n", "\ntoolsearch_searches_empty_total 1\n", `toolsearch_calls_total{gen_ai_tool_name="echo",outcome="ok",source="mcp"} 1`,
		"toolsearch_search_duration_seconds_count 1", `toolsearch_request_bytes{view="direct"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
	if code, text := scrape(robotKey); code != http.StatusForbidden || strings.Contains(text, "echo") {
		t.Errorf("with a key that is not for it: status %d: %s", code, text)
	}
	if code, _ := scrape(""); code != http.StatusUnauthorized {
		t.Errorf("without a key: status %d", code)
	}
}
