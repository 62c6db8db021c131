package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// The test binary is also the process that is killed, limited or shut out: with
// childRole set it plays a part instead of running tests.
const (
	childRole = "STORE_TEST_ROLE"
	childDir  = "STORE_TEST_DIR"
	childN    = "STORE_TEST_N"
	childName = "STORE_TEST_NAME"
)

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	n, _ := strconv.Atoi(os.Getenv(childN))
	var err error
	switch role {
	case "write":
		err = childWrite(os.Getenv(childDir), os.Getenv(childName), n)
	case "open":
		err = childOpen(os.Getenv(childDir))
	case "full":
		err = childFull(os.Getenv(childDir))
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child prepares the test binary to play a part in dir.
func child(t testing.TB, role, dir string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWrite makes n calls from four goroutines and prints each call's id once
// it was answered.
func childWrite(dir, name string, n int) error {
	s, err := store.Open(context.Background(), store.Options{Dir: dir})
	if err != nil {
		return err
	}
	tr, err := transcript.New(transcript.Config{Recorder: s, Counter: s})
	if err != nil {
		return err
	}
	p := call.New(tr.Stage())
	var mu sync.Mutex
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		wg.Go(func() {
			for i := w; i < n; i += len(errs) {
				id := fmt.Sprintf("%s-%d", name, i)
				_, err := p.Call(context.Background(), call.Request{Target: echoTool(), Args: benchArgs, Origin: call.Origin{Session: name, Run: "r", CallID: id}})
				if err != nil {
					errs[w] = err
					return
				}
				mu.Lock()
				_, err = os.Stdout.WriteString("ack " + id + "\n")
				mu.Unlock()
				if err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, s.Close())...)
}

func childOpen(dir string) error {
	s, err := store.Open(context.Background(), store.Options{Dir: dir})
	if err != nil {
		if errors.Is(err, store.ErrReadOnly) {
			fmt.Println("read-only:", err)
			return nil
		}
		return err
	}
	return errors.Join(errors.New("the store opened"), s.Close())
}

// acks reads the ids that a child printed.
func acks(out []byte) (ids []string) {
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(line, "ack "); ok && strings.HasSuffix(id, "\n") {
			ids = append(ids, strings.TrimSuffix(id, "\n"))
		}
	}
	return ids
}

// killAfter starts a child that writes without end, kills it once it has
// acknowledged n calls, and returns every id it acknowledged.
func killAfter(t *testing.T, dir, name string, n int) []string {
	t.Helper()
	return killWhen(t, dir, name, n, func() {})
}

// killWhen is killAfter that calls acknowledged after each acknowledgement.
func killWhen(t *testing.T, dir, name string, n int, acknowledged func()) []string {
	t.Helper()
	cmd := child(t, "write", dir, childN+"=100000000", childName+"="+name)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := bufio.NewReader(pipe)
	for range n {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("read the child's acknowledgements: %v; it said %s", err, out.Bytes())
		}
		out.Write(line)
		acknowledged()
	}
	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return acks(out.Bytes())
}

// recorded returns the calls of a session by id, and fails when one stands
// twice or the run's count is another.
func recorded(t *testing.T, s *store.Store, session string) map[string]store.Call {
	t.Helper()
	out := map[string]store.Call{}
	rows := 0
	err := s.Calls(t.Context(), session, func(c store.Call) error {
		rows++
		out[c.ID] = c
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Session(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if rows != len(out) || found.Calls != rows {
		t.Errorf("session %s has %d rows for %d calls and counts %d", session, rows, len(out), found.Calls)
	}
	return out
}

// complete fails for every id that is not recorded with its outcome.
func complete(t *testing.T, calls map[string]store.Call, ids []string) {
	t.Helper()
	lost := 0
	for _, id := range ids {
		if c, ok := calls[id]; !ok || c.Status != transcript.StatusOK || c.Result == nil || c.Source != tool.OpenClaw {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged calls are not there with their outcome", lost, len(ids))
	}
}
