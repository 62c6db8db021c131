package modelapi_test

import (
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// BenchmarkStreams runs 200 streamed turns at one time, of 50 tokens with 20 ms
// before each, and reports the heap in use and how much longer a turn takes than
// its tokens do.
func BenchmarkStreams(b *testing.B) {
	const streams, tokens, delay = 200, 50, 20 * time.Millisecond
	text := strings.TrimSpace(strings.Repeat("word ", tokens))
	w := start(b, mock.Script{Choose: func(*mock.Exchange) mock.Step { return mock.Step{Text: text, Delay: delay} }}, nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	var whole []time.Duration
	var heap uint64
	for b.Loop() {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				began := time.Now()
				resp, err := client.Do(newBenchRequest(b, w.url+"/v1/chat/completions", chat(`,"stream":true`, hi)))
				if err != nil {
					b.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || !strings.HasSuffix(string(got), "data: [DONE]\n\n") {
					b.Errorf("%v, %s", err, got)
				}
				mu.Lock()
				defer mu.Unlock()
				whole = append(whole, time.Since(began))
			})
		}
		wg.Wait()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = max(heap, m.HeapInuse+m.StackInuse)
	}
	b.ReportMetric(float64(heap)/(1<<20), "MiB-client-server-and-mock")
	b.ReportMetric(float64(median(whole)-tokens*delay)/1e6, "ms-more-than-the-tokens")
}

func newBenchRequest(b *testing.B, url, body string) *http.Request {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceKey)
	return req
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}
