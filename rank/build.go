package rank

import (
	"math"
	"slices"
	"sync"
	"unicode/utf8"
)

// Index is an immutable inverted index of documents. It is safe for
// concurrent use and keeps no text but the documents' ids and names.
//
// One that was extended has a base, and of its own only what the base lacks:
// its documents and terms are numbered behind the base's. access.go reads both
// as one.
type Index struct {
	tune tuning
	base *Index // nil unless it was extended
	more extension
	docs []docRef
	keys keyTable

	terms   table    // stems that occur, and classes
	surface []uint32 // term → its word as written in the catalog, in words
	words   table

	starts   []uint32 // term t's postings are [starts[t], starts[t+1])
	postDoc  []uint32
	postImp  []uint16 // what the term adds to the document's score, in units of 1/scale
	postMask []uint8  // fields it occurs in, bit per Field
	scale    float64

	letter     [256 + 1]uint32 // words beginning with byte c are of the terms alphabetic[letter[c]:letter[c+1]]
	alphabetic []uint32

	classOf     []uint32 // term → class
	memberStart []uint32 // class c's terms are members[memberStart[c]:memberStart[c+1]]
	members     []uint32

	owners  ownerTable
	scratch *sync.Pool // of *scratch; shared with what extends it

	sum, have [NumFields]float64 // lengths of the fields, and how many documents have each

	clause, owner, addedCap uint32 // of tune, in 1/unit
}

type docRef struct {
	id, name string
	owner    uint32 // number in owners, or none
}

// entry is one (term, document) pair while the index is built.
type entry struct {
	term, doc uint32
	tf        [NumFields]uint8 // in quarters of an occurrence
	extra     bool             // of the name, only an extra form
}

type builder struct {
	x       *Index
	lex     *lexicon
	tune    tuning
	toks    tokens
	stem    []byte
	stems   map[string]uint32 // word → term, so that each word is stemmed once
	entries []entry
	slot    []uint32 // term → its entry for the current document
	length  [][NumFields]uint16
	sum     [NumFields]float64
	have    [NumFields]float64
	class   []uint32
}

// Build indexes docs. Documents beyond 16 million are left out. The strings ID
// and Name are kept, the texts are not.
func Build(docs []Document) *Index { return build(docs, defaultTuning()) }

func build(docs []Document, tune tuning) *Index {
	if len(docs) > maxDocuments {
		docs = docs[:maxDocuments]
	}
	b := newBuilder(docs, tune)
	x := b.x
	x.sum, x.have = b.sum, b.have
	b.postings()
	b.classes()
	x.keys = newKeyTable(x.docs)
	x.owners = b.owners(docs)
	x.byLetter()
	return x
}

// newBuilder reads the documents.
func newBuilder(docs []Document, tune tuning) *builder {
	x := &Index{tune: tune, terms: newTable(), words: newTable(), scratch: &sync.Pool{}, docs: make([]docRef, len(docs)),
		clause: scaled(tune.clause), owner: scaled(tune.owner), addedCap: scaled(tune.addedCap)}
	b := &builder{x: x, lex: words(), tune: tune, stems: map[string]uint32{}, length: make([][NumFields]uint16, len(docs))}
	for i := range docs {
		b.document(uint32(i), &docs[i])
	}
	return b
}

// document adds the terms of one document to the entries.
func (b *builder) document(n uint32, d *Document) {
	b.x.docs[n] = docRef{d.ID, d.Name, none}
	first := uint32(len(b.entries))
	for f := Field(0); f < NumFields; f++ {
		if d.Text[f] == "" {
			continue
		}
		b.toks.reset()
		b.toks.scan(clip(d.Text[f], maxFieldBytes), maxFieldWords)
		length := b.field(n, f, first)
		b.length[n][f] = uint16(length)
		b.sum[f] += float64(length)
		b.have[f]++
	}
}

// field counts the tokens of one field and returns its length in quarters of
// a word.
func (b *builder) field(n uint32, f Field, first uint32) int {
	length := 0
	for _, k := range b.toks.list {
		w := b.toks.bytes(k)
		if _, stop := b.lex.stop[string(w)]; stop {
			continue
		}
		o := occurrence{term: b.term(w), doc: n, first: first, field: f, quarters: 4}
		if f == Description && length >= 4*b.tune.lead {
			o.quarters = b.tune.tail
		}
		o.extra = k.kind != word && k.kind != gram || f == Name && number(w)
		if b.count(o) && !o.extra {
			length += o.quarters
		}
	}
	return length
}

// occurrence is one token of a document.
type occurrence struct {
	term, doc uint32
	first     uint32 // the document's first entry
	field     Field
	quarters  int  // what it counts, in quarters of a word
	extra     bool // a second form of a token: found, but no part of the length
}

// count notes the occurrence, and reports whether it adds to the field. A word
// that a name repeats, as in api.Api.get, is one.
func (b *builder) count(o occurrence) bool {
	at := b.slot[o.term]
	if at == none || at < o.first {
		at = uint32(len(b.entries))
		b.slot[o.term] = at
		b.entries = append(b.entries, entry{term: o.term, doc: o.doc})
	}
	e := &b.entries[at]
	if o.field == Name {
		if e.tf[Name] > 0 {
			return false
		}
		e.extra = o.extra
	}
	if e.tf[o.field] < math.MaxUint8-4 {
		e.tf[o.field] += uint8(o.quarters)
	}
	return true
}

// term returns the number of the word's stem.
func (b *builder) term(w []byte) uint32 {
	if t, ok := b.stems[string(w)]; ok {
		return t
	}
	b.stem = b.lex.stem(b.stem[:0], w)
	t := b.x.terms.add(b.stem)
	surface := string(w)
	if int(t) == len(b.slot) {
		b.slot = append(b.slot, none)
		b.x.surface = append(b.x.surface, b.x.words.add(w))
		b.class = append(b.class, 0)
	} else if old := b.x.words.at(b.x.surface[t]); len(w) < len(old) {
		b.x.surface[t] = b.x.words.add(w)
	}
	b.stems[surface] = t
	return t
}

// postings sorts the entries by term and weighs each.
func (b *builder) postings() {
	x, n := b.x, b.x.terms.len()
	x.starts = make([]uint32, n+1)
	for i := range b.entries {
		x.starts[b.entries[i].term+1]++
	}
	for t := range n {
		x.starts[t+1] += x.starts[t]
	}
	next := slices.Clone(x.starts[:n])
	order := make([]uint32, len(b.entries))
	for i := range b.entries { // entries are in document order, and stay so
		t := b.entries[i].term
		order[next[t]] = uint32(i)
		next[t]++
	}
	weights := make([]float32, len(order))
	x.postDoc = make([]uint32, len(order))
	x.postMask = make([]uint8, len(order))
	x.postImp = make([]uint16, len(order))
	idfs := x.idfs()
	totals := b.nameTotals(idfs)
	for i, at := range order {
		e := &b.entries[at]
		x.postDoc[i] = e.doc
		w, mask := b.weigh(e, idfs[e.term], totals[e.doc])
		weights[i], x.postMask[i] = float32(w), mask
	}
	x.quantise(weights)
}

// nameTotals sums the weights of the terms of each document's name.
func (b *builder) nameTotals(idfs []float64) []float64 {
	sums := make([]float64, len(b.x.docs))
	for i := range b.entries {
		if e := &b.entries[i]; e.tf[Name] > 0 && !e.extra {
			sums[e.doc] += idfs[e.term]
		}
	}
	return sums
}

// idf is the smoothed inverse document frequency of a term that df of n
// documents have. It is above 0 even for a term that all have, so that a
// catalog of one can be searched.
func idf(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }

// idfs returns the inverse document frequency of each term.
func (x *Index) idfs() []float64 {
	n := float64(len(x.docs))
	out := make([]float64, x.terms.len())
	for t := range out {
		out[t] = idf(n, float64(x.df(uint32(t))))
	}
	return out
}

// weigh returns the weight of one entry: its occurrences, each divided by what
// the length of its field is worth and multiplied by what the field is worth,
// then saturated together (BM25F: Robertson, Zaragoza and Taylor, "Simple BM25
// Extension to Multiple Weighted Fields", 2004). A word repeated in three
// fields must not outweigh three words. total is the weight of the terms of the
// document's name, of which a matched one earns its share.
func (b *builder) weigh(e *entry, idf, total float64) (float64, uint8) {
	sum, mask := 0.0, uint8(0)
	for f := Field(0); f < NumFields; f++ {
		if e.tf[f] == 0 {
			continue
		}
		mask |= 1 << f
		tf := float64(e.tf[f]) / 4
		norm := 1 - b.tune.b[f]
		if b.sum[f] > 0 {
			norm += b.tune.b[f] * float64(b.length[e.doc][f]) * b.have[f] / b.sum[f]
		}
		sum += b.tune.weight[f] * tf / norm
	}
	sum = sum * (b.tune.k1 + 1) / (sum + b.tune.k1)
	w := sum * idf
	if mask&(1<<Name) != 0 && !e.extra && total > 0 {
		w += b.tune.cover * idf * idf / total
	}
	return w, mask
}

// quantise turns weights into integers, so that sums are exact and the same
// on every machine.
func (x *Index) quantise(weights []float32) {
	top := float32(0)
	for _, w := range weights {
		top = max(top, w)
	}
	if top == 0 {
		top = 1
	}
	x.scale = math.MaxUint16 / float64(top)
	for i, w := range weights {
		x.postImp[i] = x.quantum(w)
	}
}

func (x *Index) quantum(w float32) uint16 {
	return uint16(min(math.MaxUint16, max(1, math.Round(float64(w)*x.scale))))
}

// classes groups the terms by the family of their word.
func (b *builder) classes() {
	x, n := b.x, b.x.terms.len()
	for t := range n {
		w := string(x.words.at(x.surface[t]))
		c := b.lex.class(w, x.terms.at(uint32(t)))
		b.class[t] = x.terms.add([]byte(c)) // may be a term, or a new string without postings
	}
	all := x.terms.len()
	for range all - n {
		x.starts = append(x.starts, x.starts[n])
	}
	x.classOf = b.class
	x.memberStart = make([]uint32, all+1)
	for _, c := range x.classOf {
		x.memberStart[c+1]++
	}
	for c := range all {
		x.memberStart[c+1] += x.memberStart[c]
	}
	next := slices.Clone(x.memberStart[:all])
	x.members = make([]uint32, n)
	for t, c := range x.classOf {
		x.members[next[c]] = uint32(t)
		next[c]++
	}
}

// byLetter groups the terms by the first letter of their word, for typo repair.
func (x *Index) byLetter() {
	for _, w := range x.surface {
		x.letter[int(x.words.at(w)[0])+1]++
	}
	for c := range 256 {
		x.letter[c+1] += x.letter[c]
	}
	next := x.letter
	x.alphabetic = make([]uint32, len(x.surface))
	for t, w := range x.surface {
		c := x.words.at(w)[0]
		x.alphabetic[next[c]] = uint32(t)
		next[c]++
	}
}

// clip cuts s to at most n bytes at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Bytes returns the memory that the index holds, without the documents' own
// ids and names, and without what it was extended from.
func (x *Index) Bytes() int64 {
	return x.more.bytes() + x.terms.bytes() + x.words.bytes() + x.keys.bytes() + x.owners.bytes() +
		4*int64(cap(x.starts)+cap(x.postDoc)+cap(x.classOf)+cap(x.memberStart)+cap(x.members)+cap(x.surface)+cap(x.alphabetic)+len(x.letter)) +
		2*int64(cap(x.postImp)) + int64(cap(x.postMask)) + int64(cap(x.docs))*40
}
