package rank

import (
	"cmp"
	"slices"
	"sync"
)

// pool hands out scratch space, so that a search allocates little more than
// its answer.
type pool struct {
	docs int
	free sync.Pool
}

// scratch is the working memory of one search.
type scratch struct {
	plan    plan
	cells   []cell
	clause  []uint32 // the current clause's score, document by document
	best    []uint32 // the best clause's score
	touched []uint32
	dirty   []uint32 // documents touched by the current clause
	exact   []uint32
	owners  []uint8
	named   []uint32
	top     []ranked
}

// cell is what one document has collected.
type cell struct {
	typed uint32 // from words that were typed
	added uint32 // from what was added to them
	cover uint32 // how much of the query it answers, see weak.go
	flags uint8
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

func (x *Index) take() *scratch {
	if s, ok := x.scratch.free.Get().(*scratch); ok {
		return s
	}
	n := len(x.docs)
	return &scratch{cells: make([]cell, n), clause: make([]uint32, n), best: make([]uint32, n),
		owners: make([]uint8, len(x.owners.size))}
}

// Search answers a query. It is a pure function of the index and the query,
// safe for concurrent use, and costs no more than the postings of the query's
// terms.
func (x *Index) Search(q Query) Result {
	limit := min(q.Limit, MaxLimit)
	if limit < 1 || len(x.docs) == 0 {
		return Result{}
	}
	s := x.take()
	defer x.scratch.free.Put(s)
	x.read(&s.plan, q.Text)
	x.matchExact(s, trim(q.Text))
	x.score(s)
	x.preferOwners(s)
	total := len(s.touched)
	x.selectTop(s, limit)
	r := Result{Total: total, Hits: x.hits(s, q.Explain)}
	for _, rep := range s.plan.repairs {
		k := s.plan.toks.list[s.plan.typed[rep.word].tok]
		r.Repairs = append(r.Repairs, Repair{string(s.plan.toks.bytes(k)), string(x.words.at(x.surface[rep.term]))})
	}
	r.Weak = len(r.Hits) > 0
	for i := range r.Hits {
		r.Weak = r.Weak && r.Hits[i].Weak
	}
	s.clear()
	return r
}

// clear makes the scratch space ready for the next search.
func (s *scratch) clear() {
	for _, d := range s.touched {
		s.cells[d], s.best[d] = cell{}, 0
	}
	for _, o := range s.named {
		s.owners[o] = 0
	}
	s.touched, s.named, s.top = s.touched[:0], s.named[:0], s.top[:0]
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
	for _, d := range x.keys.find(s.plan.key) {
		c := s.touch(d)
		c.flags |= normalFlag
		if x.docs[d].name == text || x.docs[d].id == text {
			c.flags |= exactFlag
		}
	}
}

// score adds up the postings of the plan's terms, word by word.
func (x *Index) score(s *scratch) {
	p := &s.plan
	for i := range p.terms {
		t := &p.terms[i]
		if i > 0 && t.why == Typed && p.clauses > 1 && t.clause != p.terms[i-1].clause {
			s.closeClause()
		}
		if t.why == Typed {
			x.scoreTyped(s, t, p.clauses > 1)
		} else {
			x.scoreAdded(s, t)
		}
	}
	s.closeClause()
}

func (s *scratch) closeClause() {
	for _, d := range s.dirty {
		s.best[d] = max(s.best[d], s.clause[d])
		s.clause[d] = 0
	}
	s.dirty = s.dirty[:0]
}

func (x *Index) scoreAdded(s *scratch, t *term) {
	docs, imps := x.list(t.id)
	for j, d := range docs {
		c := s.touch(d)
		c.added += t.weight * uint32(imps[j])
		c.cover += t.cover
	}
}

func (x *Index) scoreTyped(s *scratch, t *term, clauses bool) {
	flags := uint8(touchedFlag | literalFlag)
	if t.filler {
		flags = touchedFlag
	}
	docs, imps := x.list(t.id)
	for j, d := range docs {
		c := s.touch(d)
		c.flags |= flags
		c.cover += t.cover
		w := t.weight * uint32(imps[j])
		c.typed += w
		if clauses {
			if s.clause[d] == 0 {
				s.dirty = append(s.dirty, d)
			}
			s.clause[d] += w
		}
	}
}

func (x *Index) list(t uint32) ([]uint32, []uint16) {
	from, to := x.starts[t], x.starts[t+1]
	return x.postDoc[from:to], x.postImp[from:to]
}

// preferOwners finds the owners that the query names.
func (x *Index) preferOwners(s *scratch) {
	for _, w := range s.plan.typed {
		if w.term == none || w.filler {
			continue
		}
		for _, o := range x.owners.list[x.owners.start[w.term]:x.owners.start[w.term+1]] {
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
		typed -= uint32(x.tune.clause * float64(typed-s.best[d]))
	}
	if c.flags&literalFlag == 0 {
		return typed + c.added
	}
	if o := x.docs[d].owner; o != none && x.owners.size[o] > 0 && s.owners[o] == x.owners.size[o] {
		typed += uint32(x.tune.owner * float64(typed))
	}
	return typed + min(c.added, uint32(x.tune.addedCap*float64(typed)))
}

// selectTop keeps the best documents, in order.
func (x *Index) selectTop(s *scratch, limit int) {
	for _, d := range s.touched {
		r := ranked{d, s.cells[d].flags, x.total(s, d)}
		if len(s.top) == limit && x.compare(r, s.top[0]) >= 0 {
			continue
		}
		if len(s.top) < limit {
			s.top = append(s.top, r)
			if len(s.top) == limit {
				for i := limit / 2; i >= 0; i-- {
					x.sift(s.top, i)
				}
			}
			continue
		}
		s.top[0] = r
		x.sift(s.top, 0)
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
	if c := cmp.Compare(x.docs[a.doc].id, x.docs[b.doc].id); c != 0 {
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
