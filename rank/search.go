package rank

import (
	"cmp"
	"slices"
)

// scratch is the working memory of one search.
type scratch struct {
	plan    plan
	cells   []cell
	touched []uint32 // documents whose cell is in use
	literal int      // of them, those that match a typed word
	owners  []uint8  // owner → words of its name that the query has
	named   []uint32 // owners with such words
	top     []ranked
}

// cell is what one document has collected. It is small, and whole, so that a
// posting touches one line of the cache.
type cell struct {
	typed  uint32 // from words that were typed
	added  uint32 // from what was added to them
	cover  uint32 // how much of the query it answers, see weak.go
	clause uint32 // from the clause number last
	best   uint32 // from the best clause before it
	last   uint8
	flags  uint8
}

const (
	touchedFlag = 1 << iota
	literalFlag // matches a typed word that is not filler
	normalFlag  // its name or id is the query, but for case and separators
	exactFlag   // its name or id is the query
)

// ranked is a document with its sort key.
type ranked struct {
	doc   uint32
	flags uint8
	score uint32
}

// take returns scratch space, used before if there is some, so that a search
// allocates little more than its answer.
func (x *Index) take() *scratch {
	if s, ok := x.scratch.Get().(*scratch); ok {
		if len(s.cells) < x.len() {
			s.cells = make([]cell, x.len()) // it was used before x was extended
		}
		return s
	}
	return &scratch{cells: make([]cell, x.len()), owners: make([]uint8, len(x.owners.size))}
}

// Search answers a query. It is a pure function of the index and the query,
// safe for concurrent use, and costs no more than the postings of the query's
// terms.
func (x *Index) Search(q Query) Result {
	limit := min(q.Limit, MaxLimit)
	if limit < 1 || x.len() == 0 {
		return Result{}
	}
	s := x.take()
	x.read(&s.plan, q.Text)
	x.matchExact(s, trim(q.Text))
	x.score(s, limit, q.Keep == nil)
	if q.Keep != nil {
		s.keep(q.Keep)
	}
	x.preferOwners(s)
	x.selectTop(s, limit)
	r := Result{Total: len(s.touched), Hits: x.hits(s, q.Explain)}
	for _, rep := range s.plan.repairs {
		k := s.plan.toks.list[s.plan.typed[rep.word].tok]
		r.Repairs = append(r.Repairs, Repair{string(s.plan.toks.bytes(k)), string(x.word(rep.term))})
	}
	r.Weak = len(r.Hits) > 0
	for i := range r.Hits {
		r.Weak = r.Weak && r.Hits[i].Weak
	}
	s.clear()
	x.scratch.Put(s)
	return r
}

// clear makes the scratch space ready for the next search.
func (s *scratch) clear() {
	for _, d := range s.touched {
		s.cells[d] = cell{}
	}
	for _, o := range s.named {
		s.owners[o] = 0
	}
	s.touched, s.named, s.top, s.literal = s.touched[:0], s.named[:0], s.top[:0], 0
}

// keep forgets the documents that f refuses.
func (s *scratch) keep(f func(doc int) bool) {
	kept := s.touched[:0]
	for _, d := range s.touched {
		if f(int(d)) {
			kept = append(kept, d)
		} else {
			s.cells[d] = cell{}
		}
	}
	s.touched = kept
}

func (s *scratch) touch(d uint32) *cell {
	c := &s.cells[d]
	if c.flags == 0 {
		c.flags = touchedFlag
		s.touched = append(s.touched, d)
	}
	return c
}

// matchExact marks the documents whose name or id the query is.
func (x *Index) matchExact(s *scratch, text string) {
	for _, list := range x.keyed(s.plan.key) {
		for _, d := range list {
			c := s.touch(d)
			c.flags |= normalFlag
			if ref := x.doc(d); ref.name == text || ref.id == text {
				c.flags |= exactFlag
			}
		}
	}
}

// score adds up the postings of the plan's terms: first what was typed, then
// what was added. Where enough documents match a typed word, and all of them
// count, no other can be in the answer, and additions are looked up for those
// alone.
func (x *Index) score(s *scratch, limit int, all bool) {
	for i := range s.plan.terms {
		if t := &s.plan.terms[i]; t.why == Typed {
			x.scoreTyped(s, t)
		}
	}
	full := all && s.literal >= limit
	for i := range s.plan.terms {
		if t := &s.plan.terms[i]; t.why != Typed {
			x.scoreAdded(s, t, full)
		}
	}
}

func (x *Index) scoreTyped(s *scratch, t *term) {
	flags := uint8(touchedFlag | literalFlag)
	if t.filler {
		flags = touchedFlag
	}
	for _, list := range x.lists(t.id) {
		s.addTyped(t, flags, list)
	}
}

func (s *scratch) addTyped(t *term, flags uint8, list postings) {
	imps := list.imps[:len(list.docs)]
	for j, d := range list.docs {
		c := s.touch(d)
		if flags&literalFlag&^c.flags != 0 {
			s.literal++
		}
		c.flags |= flags
		c.cover += t.cover
		w := t.weight * uint32(imps[j])
		c.typed += w
		if c.last != t.clause {
			c.best, c.clause, c.last = max(c.best, c.clause), 0, t.clause
		}
		c.clause += w
	}
}

func (x *Index) scoreAdded(s *scratch, t *term, full bool) {
	for _, list := range x.lists(t.id) {
		s.addAdded(t, full, list)
	}
}

func (s *scratch) addAdded(t *term, full bool, list postings) {
	imps := list.imps[:len(list.docs)]
	for j, d := range list.docs {
		if full && s.cells[d].flags == 0 {
			continue
		}
		c := s.touch(d)
		c.added += t.weight * uint32(imps[j])
		c.cover += t.cover
	}
}

// preferOwners finds the owners that the query names.
func (x *Index) preferOwners(s *scratch) {
	for _, w := range s.plan.typed {
		if w.term == none || w.filler {
			continue
		}
		for _, o := range x.owners.of(w.term) {
			if s.owners[o] == 0 {
				s.named = append(s.named, o)
			}
			s.owners[o]++
		}
	}
}

// total is the document's score.
func (x *Index) total(s *scratch, d uint32) uint32 {
	c := &s.cells[d]
	typed := c.typed
	if s.plan.clauses > 1 {
		typed -= share(x.clause, typed-max(c.best, c.clause))
	}
	if c.flags&literalFlag == 0 {
		return typed + c.added
	}
	if len(s.named) > 0 && x.named(s, d) {
		typed += share(x.owner, typed)
	}
	return typed + min(c.added, share(x.addedCap, typed))
}

// share is a part of a score, rounded down; part has 1/unit as its unit.
func share(part, score uint32) uint32 { return uint32(uint64(part) * uint64(score) / unit) }

// named reports whether the query names the document's owner.
func (x *Index) named(s *scratch, d uint32) bool {
	o := x.doc(d).owner
	return o != none && x.owners.size[o] > 0 && s.owners[o] == x.owners.size[o]
}

// selectTop keeps the best documents, in order.
func (x *Index) selectTop(s *scratch, limit int) {
	for _, d := range s.touched {
		c := &s.cells[d]
		if len(s.top) == limit && c.flags <= s.top[0].flags &&
			uint64(c.typed)+uint64(share(x.owner, c.typed))+uint64(c.added) < uint64(s.top[0].score) {
			continue // not even the most it could score is enough
		}
		r := ranked{d, c.flags, x.total(s, d)}
		switch {
		case len(s.top) < limit:
			s.top = append(s.top, r)
			if len(s.top) == limit {
				for i := limit / 2; i >= 0; i-- {
					x.sift(s.top, i)
				}
			}
		case x.compare(r, s.top[0]) < 0:
			s.top[0] = r
			x.sift(s.top, 0)
		}
	}
	slices.SortFunc(s.top, x.compare)
}

// sift restores the heap, whose first element is the one to go.
func (x *Index) sift(h []ranked, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && x.compare(h[c+1], h[c]) > 0 {
			c++
		}
		if x.compare(h[c], h[i]) <= 0 {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// compare orders the better document first.
func (x *Index) compare(a, b ranked) int {
	if c := cmp.Compare(b.flags, a.flags); c != 0 {
		return c
	}
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if c := cmp.Compare(x.doc(a.doc).id, x.doc(b.doc).id); c != 0 {
		return c
	}
	return cmp.Compare(a.doc, b.doc)
}

func (x *Index) hits(s *scratch, explain bool) []Hit {
	if len(s.top) == 0 {
		return nil
	}
	hits := make([]Hit, len(s.top))
	for i, r := range s.top {
		h := &hits[i]
		*h = Hit{Doc: int(r.doc), Score: float64(r.score) / unit / x.scale, Tier: r.tier()}
		h.Weak = h.Tier != Exact && x.weak(s, r.doc)
		if explain {
			h.Reasons = x.explain(&s.plan, r.doc)
		}
	}
	return hits
}

func (r ranked) tier() Tier {
	switch {
	case r.flags&(exactFlag|normalFlag) != 0:
		return Exact
	case r.flags&literalFlag != 0:
		return Literal
	}
	return Added
}
