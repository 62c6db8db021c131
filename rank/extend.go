package rank

import (
	"cmp"
	"slices"
)

// extendShare bounds what an index is extended by: a 16th of its documents. So
// few change no statistic by more than that.
const extendShare = 16

// extension is what an index that was extended has besides its own parts.
type extension struct {
	firstDoc, firstTerm uint32              // numbers of its first document and term
	terms               []uint32            // in order, those with postings of its own; term i's are [starts[i], starts[i+1])
	members             map[uint32][]uint32 // class → its own terms
}

func (e *extension) bytes() int64 {
	n := 4 * int64(cap(e.terms))
	for _, list := range e.members {
		n += 48 + 4*int64(cap(list))
	}
	return n
}

// Extend returns an index of the documents of x and a few more, numbered from
// the last of x on. It shares x and takes time and memory for the few alone.
// They are weighed by the statistics of all; those of x keep their weights, as
// if the few were not there. Hits and their order are those of Build nearly
// always; scores are near them, except of words that only a few documents have.
//
// false says that Build is needed: for more than a 16th of the documents of x,
// for documents with an owner, and when x was extended itself.
func (x *Index) Extend(docs []Document) (*Index, bool) {
	hasOwner := func(d Document) bool { return d.Text[Owner] != "" }
	if x.base != nil || len(docs)*extendShare > len(x.docs) || slices.ContainsFunc(docs, hasOwner) {
		return nil, false
	}
	b := newBuilder(docs, x.tune)
	y := b.x
	read := y.terms // numbered as they were read
	written := func(t uint32) []byte { return y.words.at(y.surface[t]) }
	own := &Index{
		tune: x.tune, base: x, scale: x.scale, clause: x.clause, owner: x.owner, addedCap: x.addedCap,
		owners: x.owners, scratch: x.scratch, docs: y.docs, terms: newTable(), words: newTable(),
		more: extension{firstDoc: uint32(len(x.docs)), firstTerm: uint32(x.terms.len()), members: map[uint32][]uint32{}},
	}
	number := make([]uint32, read.len()) // of each term in own
	for t := range number {
		stem := read.at(uint32(t))
		if number[t] = x.term(stem); number[t] == none {
			number[t] = own.more.firstTerm + own.terms.add(stem)
			own.surface = append(own.surface, own.words.add(written(uint32(t))))
		}
	}
	own.classify(b.lex)
	own.weighAll(b, number)
	own.keys = newKeyTable(own.docs)
	for i := range own.keys.docs {
		own.keys.docs[i] += own.more.firstDoc
	}
	own.byLetter()
	for i := range own.alphabetic {
		own.alphabetic[i] += own.more.firstTerm
	}
	return own, true
}

// classify gives the own terms their classes, which may be the base's.
func (x *Index) classify(lex *lexicon) {
	n := x.terms.len()
	x.classOf = make([]uint32, n)
	for t := range n {
		name := []byte(lex.class(string(x.words.at(x.surface[t])), x.terms.at(uint32(t))))
		c := x.class(name)
		if c == none {
			c = x.more.firstTerm + x.terms.add(name)
		}
		x.classOf[t] = c
		x.more.members[c] = append(x.more.members[c], x.more.firstTerm+uint32(t))
	}
}

// weighAll turns the builder's entries into postings. number has the number of
// each of the builder's terms.
func (x *Index) weighAll(b *builder, number []uint32) {
	have := make([]int, len(number))
	for i := range b.entries {
		have[b.entries[i].term]++
	}
	idfs := make([]float64, len(number))
	for t, n := range number {
		df := have[t]
		if n < x.more.firstTerm {
			df += x.base.df(n)
		}
		idfs[t] = idf(float64(x.len()), float64(df))
	}
	totals := b.nameTotals(idfs)
	b.sum, b.have = x.base.sum, x.base.have
	slices.SortStableFunc(b.entries, func(a, e entry) int { return cmp.Compare(number[a.term], number[e.term]) })
	for i := range b.entries {
		e := &b.entries[i]
		if t := number[e.term]; i == 0 || t != number[b.entries[i-1].term] {
			x.more.terms = append(x.more.terms, t)
			x.starts = append(x.starts, uint32(i))
		}
		w, mask := b.weigh(e, idfs[e.term], totals[e.doc])
		x.postDoc = append(x.postDoc, x.more.firstDoc+e.doc)
		x.postImp = append(x.postImp, x.quantum(float32(w)))
		x.postMask = append(x.postMask, mask)
	}
	x.starts = append(x.starts, uint32(len(b.entries)))
}
