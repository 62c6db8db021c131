package qa

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/internal/procgroup"
	"github.com/toolsearch/toolsearch/tool"
)

const (
	maxStderr = 64 << 10
	maxAnswer = 32 << 20
	stopGrace = 10 * time.Second
)

// gateway is a running `toolsearch serve`.
type gateway struct {
	cmd    *exec.Cmd
	end    context.CancelFunc // kills it and what it started
	url    string
	stderr *bytes.Buffer
	done   chan error
}

// startGateway starts the program with its own home, and waits until it says
// where it listens.
func (f *fixture) startGateway(ctx context.Context, home string, s *Settings) (*gateway, error) {
	raw, err := tool.Encode(s)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(home, "toolsearch.json5")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	g := &gateway{stderr: &bytes.Buffer{}, done: make(chan error, 1)}
	var life context.Context
	life, g.end = context.WithCancel(context.WithoutCancel(ctx))
	g.cmd = exec.CommandContext(life, f.opt.Executable, "--config", path, "serve", "--listen", "127.0.0.1:0", "--json")
	g.cmd.Dir = home
	g.cmd.Env = append(os.Environ(), // the last of a name counts
		"HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CACHE_HOME="+filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_DATA_HOME="+filepath.Join(f.opt.Dir, "data"))
	g.cmd.Stderr = &limited{to: g.stderr, left: maxStderr}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		g.end()
		return nil, err
	}
	group, err := procgroup.Start(g.cmd)
	if err != nil {
		g.end()
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(io.LimitReader(out, maxStderr)).ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, out) // until the process ends
		g.done <- group.Wait()
	}()
	select {
	case <-ctx.Done():
		g.kill()
		return nil, fmt.Errorf("wait for the gateway: %w", ctx.Err())
	case first := <-line:
		var said struct {
			URL string `json:"url"`
		}
		if json.Unmarshal([]byte(first), &said) != nil || said.URL == "" {
			g.kill()
			return nil, fmt.Errorf("the gateway did not start: %s", strings.TrimSpace(g.said()))
		}
		g.url = said.URL
	}
	return g, nil
}

// ask sends a message as a client of Chat Completions would.
func (g *gateway) ask(ctx context.Context, message string) (string, error) {
	body, err := tool.Encode(map[string]any{
		"model":    "mock/mock",
		"messages": []map[string]string{{"role": "user", "content": message}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req) // ctx has the timeout
	if err != nil {
		return "", fmt.Errorf("ask the gateway: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return "", fmt.Errorf("read the gateway's answer: %w", err)
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &answer) != nil || len(answer.Choices) == 0 {
		return "", fmt.Errorf("the gateway answered %d: %.500s", resp.StatusCode, raw)
	}
	return answer.Choices[0].Message.Content, nil
}

// stop asks the gateway to end, and waits until its log is written.
func (g *gateway) stop(ctx context.Context) error {
	defer g.end()
	// Windows has no such signal: there the process is killed, and its log is what
	// was written before.
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil {
		g.kill()
		return nil
	}
	select {
	case err := <-g.done:
		if err != nil {
			return fmt.Errorf("the gateway ended badly: %w: %s", err, strings.TrimSpace(g.said()))
		}
		return nil
	case <-ctx.Done():
	case <-time.After(stopGrace):
	}
	g.kill()
	return errors.New("the gateway did not end")
}

// kill ends the gateway and what it started.
func (g *gateway) kill() {
	g.end()
	<-g.done // that it was killed is no news
}

// said is what the gateway wrote to stderr; only once it has ended.
func (g *gateway) said() string { return g.stderr.String() }

// limited keeps the first bytes and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}
