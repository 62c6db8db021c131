package child

import (
	"testing"

	"github.com/toolsearch/toolsearch/code/internal/guest"
)

// recorder is a Host that remembers what was sent.
type recorder struct {
	bridge
	ids []int
}

func (r *recorder) Ask(typ int, first, rest string) (int, error) {
	return r.Send(typ, first)
}

func (r *recorder) Send(typ int, payload string) (int, error) {
	r.lastID++
	r.ids = append(r.ids, int(r.lastID))
	return int(r.lastID), nil
}

// BenchmarkRequest measures the guest's and the engine's part of one request,
// without a process around it.
func BenchmarkRequest(b *testing.B) {
	e, err := newEmbedded(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	r := &recorder{}
	if err := e.Boot(guest.Prelude, r); err != nil {
		b.Fatal(err)
	}
	if ok, err := e.Call("start", `for (;;) await openclaw.tools.search("x")`, `{"logBytes":1000,"resultBytes":1000,"argsBytes":100000,"inFlight":16,"calls":1000000000}`); err != nil || !ok {
		b.Fatal(ok, err)
	}
	for b.Loop() {
		id := r.ids[len(r.ids)-1]
		r.ids = r.ids[:0]
		if _, err := e.Idle(); err != nil {
			b.Fatal(err)
		}
		if _, err := e.Call("deliver", id, true, "[]"); err != nil {
			b.Fatal(err)
		}
	}
}
