package rank

// Bounds of typo repair. Words shorter than minRepair are too often one edit
// from another word.
const (
	minRepair  = 4
	maxRepairs = 4
)

// compounds joins typed neighbours that the catalog writes as one (web hook,
// webhook) and splits an unknown word that the catalog writes as two.
func (x *Index) compounds(p *plan) {
	var buf [2*maxToken + 8]byte
	lex := words()
	for i := 0; i+1 < len(p.typed); i++ {
		a, b := p.typed[i], p.typed[i+1]
		ka, kb := p.toks.list[a.tok], p.toks.list[b.tok]
		if b.tok != a.tok+1 || ka.kind != word || kb.kind != word || ka.clause != kb.clause {
			continue
		}
		whole := append(append(buf[:0], p.toks.bytes(ka)...), p.toks.bytes(kb)...)
		stem := lex.stem(whole[len(whole):], whole)
		if t := x.term(stem); t != none {
			p.add(term{id: t, weight: scaled(x.tune.compound), word: uint32(i), clause: a.clause, why: Compound})
			p.typed[i].known, p.typed[i+1].known = true, true
		}
	}
	for i := range p.typed {
		w := &p.typed[i]
		if w.known || p.toks.list[w.tok].kind != word {
			continue
		}
		x.split(p, lex, uint32(i))
	}
}

// split looks for two terms that make up the unknown word.
func (x *Index) split(p *plan, lex *lexicon, word uint32) {
	w := &p.typed[word]
	s := p.toks.bytes(p.toks.list[w.tok])
	if !letters(s) || len(s) < 6 {
		return
	}
	var buf [2 * maxToken]byte
	for cut := 3; cut+3 <= len(s); cut++ {
		left := x.term(lex.stem(buf[:0], s[:cut]))
		if left == none {
			continue
		}
		right := x.term(lex.stem(buf[:0], s[cut:]))
		if right == none {
			continue
		}
		half := scaled(x.tune.compound) / 2
		p.add(term{id: left, weight: half, word: word, clause: w.clause, why: Compound})
		p.add(term{id: right, weight: half, word: word, clause: w.clause, why: Compound})
		w.known = true
		return
	}
}

// repairTypos reads words that nothing in the catalog answers as the nearest
// term: one edit from five letters on, two from eight; the first letter must
// be right, since typists get it right and it bounds the search.
func (x *Index) repairTypos(p *plan) {
	for i := range p.typed {
		w := &p.typed[i]
		k := p.toks.list[w.tok]
		if w.known || w.filler || k.kind != word || len(p.repairs) >= maxRepairs {
			continue
		}
		s := p.toks.bytes(k)
		if len(s) < minRepair || !letters(s) {
			continue
		}
		t := x.nearest(s, p.stem(int(w.tok)))
		if t == none {
			continue
		}
		p.add(term{id: t, weight: scaled(x.tune.typo), word: uint32(i), clause: w.clause, why: Typo})
		p.repairs = append(p.repairs, repair{uint32(i), t})
		w.known = true
	}
}

// nearest returns the term whose word or stem is nearest to s; the commoner,
// then the first of equals.
func (x *Index) nearest(s, stem []byte) uint32 {
	best, bestDist, bestDF := none, 3, 0
	for _, list := range x.beginning(s[0]) {
		for _, id := range list {
			w := x.word(id)
			if len(w) < minRepair {
				continue
			}
			allowed := allowedEdits(min(len(s), len(w)))
			d := distance(s, w, allowed)
			if own := x.stem(id); d > allowed && len(own) >= minRepair {
				d = distance(stem, own, allowed)
			}
			if d > allowed || d > bestDist || d == bestDist && x.df(id) <= bestDF {
				continue
			}
			best, bestDist, bestDF = id, d, x.df(id)
		}
	}
	return best
}

func allowedEdits(n int) int {
	switch {
	case n < 5:
		return 0
	case n < 9:
		return 1
	}
	return 2
}

// distance returns the optimal string alignment distance (insert, delete,
// replace, swap neighbours) of a and b, or limit+1 if it is above limit.
func distance(a, b []byte, limit int) int {
	if len(a) > maxToken || len(b) > maxToken || limit <= 0 ||
		len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][maxToken + 1]uint8
	prev2, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		prev[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = uint8(i)
		low := cur[0]
		for j := 1; j <= len(b); j++ {
			d := min(prev[j], cur[j-1]) + 1
			if a[i-1] == b[j-1] {
				d = min(d, prev[j-1])
			} else {
				d = min(d, prev[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			cur[j] = d
			low = min(low, d)
		}
		if int(low) > limit {
			return limit + 1
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return int(prev[len(b)])
}
