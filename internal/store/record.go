package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/transcript"
)

// kind is the first byte of a record. Its numbers are on disk.
type kind byte

const (
	kindIntent  kind = 1
	kindOutcome kind = 2
	kindRun     kind = 3
	kindCount   kind = 4
)

// record is one change to the transcript. Exactly one of the parts is used.
type record struct {
	kind    kind
	intent  transcript.Intent
	ref     transcript.Ref // of an outcome
	outcome transcript.Outcome
	run     transcript.Run
	key     transcript.RunKey // of counts
	counts  transcript.Counts
	at      time.Time // of an outcome or counts
}

// size is roughly what the record holds in memory.
func (r *record) size() int {
	return 512 + len(r.intent.Args.Text) + len(r.outcome.Result.Text) + len(r.outcome.Reason)
}

// frame encodes the record behind room for the journal's head and number, in
// the memory of buf where that is enough.
func (r *record) frame(buf []byte) []byte {
	var head [frameHead + 4]byte
	e := encoder{buf: append(buf[:0], head[:]...)}
	e.buf = append(e.buf, byte(r.kind))
	switch r.kind {
	case kindIntent:
		e.intent(&r.intent)
	case kindOutcome:
		e.int(int64(r.ref))
		e.time(r.at)
		e.outcome(&r.outcome)
	case kindRun:
		e.run(&r.run)
	case kindCount:
		e.key(r.key)
		e.time(r.at)
		e.int(int64(r.counts.Searches))
		e.int(int64(r.counts.EmptySearches))
		e.int(int64(r.counts.Describes))
	}
	return e.buf
}

type encoder struct{ buf []byte }

func (e *encoder) int(n int64)      { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) time(t time.Time) { e.int(t.UnixNano()) }
func (e *encoder) bytes(b []byte)   { e.int(int64(len(b))); e.buf = append(e.buf, b...) }
func (e *encoder) text(texts ...string) {
	for _, s := range texts {
		e.int(int64(len(s)))
		e.buf = append(e.buf, s...)
	}
}
func (e *encoder) key(k transcript.RunKey) { e.text(k.Session, k.Run) }

func (e *encoder) body(b *transcript.Body) {
	e.bytes(b.Text)
	e.int(int64(b.Size))
	e.text(b.Digest)
}

func (e *encoder) intent(in *transcript.Intent) {
	e.key(in.RunKey)
	e.text(in.Call, in.Parent, in.Control, in.Agent, in.Caller, string(in.Target), string(in.Source), in.Owner, in.Name)
	e.body(&in.Args)
	e.time(in.Started)
}

func (e *encoder) outcome(o *transcript.Outcome) {
	e.int(int64(o.Duration))
	e.text(string(o.Status), string(o.Code), o.By, o.Reason, o.Approval.ID, o.Approval.Decision, o.Approval.By)
	e.body(&o.Result)
}

func (e *encoder) run(r *transcript.Run) {
	e.key(r.RunKey)
	e.text(r.Agent, r.Caller, r.Mode)
	e.int(int64(r.Schemas))
	e.int(int64(r.SchemaBytes))
	e.int(int64(r.Catalog))
	e.time(r.Started)
}

var errRecord = errors.New("a record cannot be read")

// readRecord decodes the body of a frame.
func readRecord(body []byte) (*record, error) {
	if len(body) == 0 {
		return nil, errRecord
	}
	r := &record{kind: kind(body[0])}
	d := decoder{buf: body[1:]}
	switch r.kind {
	case kindIntent:
		d.intent(&r.intent)
	case kindOutcome:
		r.ref, r.at = transcript.Ref(d.int()), d.time()
		d.outcome(&r.outcome)
	case kindRun:
		d.run(&r.run)
	case kindCount:
		r.key, r.at = d.key(), d.time()
		r.counts = transcript.Counts{Searches: int(d.int()), EmptySearches: int(d.int()), Describes: int(d.int())}
	default:
		return nil, fmt.Errorf("%w: its kind is %d; a newer version may have written it", errRecord, r.kind)
	}
	if d.bad || len(d.buf) != 0 {
		return nil, errRecord
	}
	return r, nil
}

// decoder reads what encoder wrote. bad says that something did not fit.
type decoder struct {
	buf []byte
	bad bool
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.buf)
	if size <= 0 {
		d.bad, d.buf = true, nil
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

func (d *decoder) time() time.Time { return time.Unix(0, d.int()) }

func (d *decoder) bytes() []byte {
	n := d.int()
	if n < 0 || n > int64(len(d.buf)) {
		d.bad, d.buf = true, nil
		return nil
	}
	out := d.buf[:n:n]
	d.buf = d.buf[n:]
	return out
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) key() transcript.RunKey {
	return transcript.RunKey{Session: d.text(), Run: d.text()}
}

func (d *decoder) body() transcript.Body {
	return transcript.Body{Text: d.bytes(), Size: int(d.int()), Digest: d.text()}
}

func (d *decoder) intent(in *transcript.Intent) {
	in.RunKey = d.key()
	in.Call, in.Parent, in.Control, in.Agent, in.Caller = d.text(), d.text(), d.text(), d.text(), d.text()
	in.Target, in.Source = tool.ID(d.text()), tool.Source(d.text())
	in.Owner, in.Name = d.text(), d.text()
	in.Args = d.body()
	in.Started = d.time()
}

func (d *decoder) outcome(o *transcript.Outcome) {
	o.Duration = time.Duration(d.int())
	o.Status, o.Code = transcript.Status(d.text()), tool.Code(d.text())
	o.By, o.Reason = d.text(), d.text()
	o.Approval = transcript.Approval{ID: d.text(), Decision: d.text(), By: d.text()}
	o.Result = d.body()
}

func (d *decoder) run(r *transcript.Run) {
	r.RunKey = d.key()
	r.Agent, r.Caller, r.Mode = d.text(), d.text(), d.text()
	r.Schemas, r.SchemaBytes, r.Catalog = int(d.int()), int(d.int()), int(d.int())
	r.Started = d.time()
}
