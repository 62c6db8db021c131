package child

import (
	"io"
	"testing"

	"github.com/toolsearch/toolsearch/code/internal/guest"
)

// BenchmarkRequest measures the guest's and the engine's part of one request,
// without a process around it.
func BenchmarkRequest(b *testing.B) {
	e, err := newEmbedded(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	h := newBridge(nil, io.Discard)
	if err := e.Boot(guest.Prelude, h); err != nil {
		b.Fatal(err)
	}
	if ok, err := e.Call("start", `for (;;) await openclaw.tools.search("x")`, `{"logBytes":1000,"resultBytes":1000,"argsBytes":100000,"inFlight":16,"calls":1000000000}`); err != nil || !ok {
		b.Fatal(ok, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Call("deliver", int(h.lastID), "[]"); err != nil {
			b.Fatal(err)
		}
	}
}
