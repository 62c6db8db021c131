package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/mcptest"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// Two hundred turns that stream at one time, of a model that takes 20 ms for a
// token, over 6,636 tools of an MCP server and one of each caller's own: none fails, and
// the program needs at most 400 MB.
func TestServeManyStreams(t *testing.T) {
	const (
		turns, tokens = 200, 100
		most          = 400e6 // bytes
	)
	text := strings.TrimSpace(strings.Repeat("token ", tokens))
	answer := mock.Text(text)
	answer.Delay = 20 * time.Millisecond
	searched := mock.Call("tool_search", `{"query":"what the caller has"}`)
	s, model := startServeWith(t, mock.Script{MaxKept: 1, Choose: func(x *mock.Exchange) mock.Step {
		// A quarter of the turns search before they answer, and find their caller's tool.
		switch last := x.Request.Messages[len(x.Request.Messages)-1].Blocks[0]; {
		case last.Kind == provider.ToolAnswer && !findsOwn(x.Request.Messages[0].Blocks[0].Text, last.Answer):
			return mock.Text("The search found something else.")
		case strings.HasSuffix(last.Text, "search"):
			return searched
		}
		return answer
	}}, mcptest.Script{Generate: 6636})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: turns}}
	defer client.CloseIdleConnections()
	ask := func(n int) error {
		message := fmt.Sprintf("Turn %d, please", n)
		if n%4 == 0 {
			message += " search"
		}
		body := fmt.Sprintf(`{"model":"chat/m","stream":true,"messages":[{"role":"user","content":%q}],"tools":[{"type":"function","function":{"name":"own_%d","description":"What the caller has","parameters":{"type":"object"}}}]}`, message, n)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+ciKey)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.HasSuffix(bytes.TrimSpace(got), []byte("data: [DONE]")) || bytes.Count(got, []byte("token")) != tokens {
			return fmt.Errorf("turn %d: %s, %w, %.2000s", n, resp.Status, err, got)
		}
		return nil
	}
	var work sync.WaitGroup
	for n := range turns {
		work.Go(func() {
			if err := ask(n); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if got := model.Total(); got != turns+turns/4 {
		t.Errorf("the model was asked %d times, want %d", got, turns+turns/4)
	}
	peak := peakMemory(t, s.cmd.Process.Pid)
	t.Logf("the program has needed at most %d MB", peak/1e6)
	if peak > most && !raceDetector {
		t.Errorf("the program has needed %d MB, want at most %d", peak/1e6, int(most/1e6))
	}
}

// findsOwn reports whether a search has found the caller's own tool, and nobody
// else's.
func findsOwn(message string, found provider.Answer) bool {
	var n int
	if _, err := fmt.Sscanf(message, "Turn %d,", &n); err != nil || len(found.Content) == 0 {
		return false
	}
	text := found.Content[0].Text
	return strings.Contains(text, fmt.Sprintf(`"own_%d"`, n)) && strings.Count(text, `"own_`) == 1
}

// peakMemory is the most physical memory that a process has had, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kib, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	return kib << 10
}
