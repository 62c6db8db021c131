package rank

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Index is an immutable inverted index of documents. It is safe for
// concurrent use and keeps no text but the documents' ids and names.
type Index struct {
	tune tuning
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

	classOf     []uint32 // term → class
	memberStart []uint32 // class c's terms are members[memberStart[c]:memberStart[c+1]]
	members     []uint32

	owners  ownerTable
	scratch pool
}

type docRef struct {
	id, name string
	owner    uint32 // number in owners, or none
}

// entry is one (term, document) pair while the index is built.
type entry struct {
	term, doc uint32
	tf        [NumFields]uint8
	extra     bool
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
	x := &Index{tune: tune, terms: newTable(), words: newTable()}
	b := &builder{x: x, lex: words(), tune: tune, stems: map[string]uint32{}}
	x.docs = make([]docRef, len(docs))
	b.length = make([][NumFields]uint16, len(docs))
	for i := range docs {
		b.document(uint32(i), &docs[i])
	}
	b.postings()
	b.classes()
	x.keys = newKeyTable(x.docs)
	x.owners = b.owners(docs)
	x.scratch.docs = len(docs)
	return x
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
		by := 4
		if f == Description && length >= 4*b.tune.lead {
			by = b.tune.tail
		}
		extra := k.kind != word && k.kind != gram || f == Name && number(w)
		if b.count(b.term(w), n, f, first, by, extra) && !extra {
			length += by
		}
	}
	return length
}

// count notes one occurrence of the term.
func (b *builder) count(term, doc uint32, f Field, first uint32, by int, extra bool) bool {
	at := b.slot[term]
	if at == none || at < first {
		at = uint32(len(b.entries))
		b.slot[term] = at
		b.entries = append(b.entries, entry{term: term, doc: doc})
	}
	e := &b.entries[at]
	e.extra = e.extra || extra && f == Name
	if f == Name && e.tf[f] > 0 {
		return false
	}
	if e.tf[f] < math.MaxUint8-4 {
		e.tf[f] += uint8(by)
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
	idf := x.idf()
	coverage := b.nameTotals(idf)
	for i, at := range order {
		e := &b.entries[at]
		x.postDoc[i] = e.doc
		w, mask := b.weigh(e, idf[e.term])
		if mask&(1<<Name) != 0 && !e.extra && coverage[e.doc] > 0 {
			w += b.tune.cover * idf[e.term] * idf[e.term] / coverage[e.doc]
		}
		weights[i], x.postMask[i] = float32(w), mask
	}
	x.quantise(weights)
}

// nameTotals sums the weights of the terms of each document's name.
func (b *builder) nameTotals(idf []float64) []float64 {
	sums := make([]float64, len(b.x.docs))
	for i := range b.entries {
		if e := &b.entries[i]; e.tf[Name] > 0 && !e.extra {
			sums[e.doc] += idf[e.term]
		}
	}
	return sums
}

// idf returns the smoothed inverse document frequency of each term,
// ln(1 + (N-n+0.5)/(n+0.5)).
func (x *Index) idf() []float64 {
	n := float64(len(x.docs))
	out := make([]float64, x.terms.len())
	for t := range out {
		df := float64(x.df(uint32(t)))
		out[t] = math.Pow(math.Log(1+(n-df+0.5)/(df+0.5)), x.tune.idfp)
	}
	return out
}

// df returns how many documents have the term.
func (x *Index) df(t uint32) int { return int(x.starts[t+1] - x.starts[t]) }

// weigh returns the BM25 weight of one entry, summed over its fields.
func (b *builder) weigh(e *entry, idf float64) (float64, uint8) {
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
		if b.tune.sumf {
			sum += b.tune.weight[f] * tf * (b.tune.k1 + 1) / (tf + b.tune.k1*norm)
		} else {
			sum += b.tune.weight[f] * tf / norm
		}
	}
	if !b.tune.sumf {
		sum = sum * (b.tune.k1 + 1) / (sum + b.tune.k1)
	}
	return sum * idf, mask
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
		x.postImp[i] = uint16(max(1, math.Round(float64(w)*x.scale)))
	}
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
// ids and names.
func (x *Index) Bytes() int64 {
	return x.terms.bytes() + x.words.bytes() + x.keys.bytes() + x.owners.bytes() +
		4*int64(cap(x.starts)+cap(x.postDoc)+cap(x.classOf)+cap(x.memberStart)+cap(x.members)+cap(x.surface)) +
		2*int64(cap(x.postImp)) + int64(cap(x.postMask)) + int64(cap(x.docs))*40
}
