package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/transcript"
)

func samples() []*record {
	key := transcript.RunKey{Session: "s", Run: "r"}
	at := time.Unix(1_800_000_000, 7)
	body := transcript.Body{Text: []byte(`{"a":1}`), Size: 7, Digest: "sha256:00"}
	return []*record{
		{kind: kindIntent, intent: transcript.Intent{
			RunKey: key, Call: "c", Parent: "p", Control: "tool_call", Agent: "a", Caller: "u", Target: "mcp:x:y", Source: "mcp", Owner: "x", Name: "y", Args: body, Started: at,
		}},
		{kind: kindOutcome, ref: 1<<40 + 3, at: at, outcome: transcript.Outcome{
			Duration: time.Second, Status: transcript.StatusBlocked, Code: "blocked", By: "policy", Reason: "no",
			Approval: transcript.Approval{ID: "i", Decision: "denied", By: "bob"}, Result: body,
		}},
		{kind: kindRun, run: transcript.Run{RunKey: key, Agent: "a", Caller: "u", Mode: "tools", Schemas: 3, SchemaBytes: 1000, Catalog: 500, Started: at}},
		{kind: kindCount, key: key, at: at, counts: transcript.Counts{Searches: 1, EmptySearches: 2, Describes: 3}},
	}
}

func TestRecordsReadBackAsWritten(t *testing.T) {
	for _, want := range samples() {
		got, err := readRecord(want.frame(nil)[frameHead+4:])
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); err != nil || diff != "" {
			t.Errorf("kind %d: %v, differs: %s", want.kind, err, diff)
		}
	}
}

// Any bytes may stand in a journal: reading them must end, without a panic, and
// a record that reads must be written the same again.
func FuzzJournal(f *testing.F) {
	var all []byte
	for i, r := range samples() {
		j := &journal{seq: uint32(i)} //nolint:gosec // a handful
		frame := r.frame(nil)
		j.seal(frame)
		all = append(all, frame...)
		f.Add(frame)
	}
	f.Add(all)
	f.Add(all[:len(all)-1])
	f.Add([]byte{5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var again []byte
		err := readJournal(bytes.NewReader(raw), func(e entry) error {
			r, err := readRecord(e.body)
			if err != nil {
				return err
			}
			frame := r.frame(nil)
			(&journal{seq: e.seq - 1}).seal(frame)
			again = append(again, frame...)
			return nil
		})
		if err == nil && len(again) > len(raw) {
			t.Errorf("%d bytes were read as %d", len(raw), len(again))
		}
	})
}

func FuzzRecord(f *testing.F) {
	for _, r := range samples() {
		f.Add(r.frame(nil)[frameHead+4:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := readRecord(body)
		if err != nil {
			return
		}
		again, err := readRecord(r.frame(nil)[frameHead+4:])
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(record{})); err != nil || diff != "" {
			t.Errorf("%v, differs: %s", err, diff)
		}
	})
}
