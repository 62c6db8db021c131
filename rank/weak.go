package rank

import (
	"math"
	"slices"
)

// An answer is weak if it covers too little of the query: "list the planets of
// the solar system" finds every list_… tool, and none is about planets. Each
// typed word is worth its inverse document frequency, a word that the catalog
// does not have as much as the rarest; an answer must be worth weakShare of the
// query's heaviest weakWords words. The bound on the words spares long requests,
// of which a tool answers one part.
const (
	weakShare = 0.3
	weakWords = 4
	unknown   = 0.7 // worth of an unknown word, as a share of the rarest
	coverUnit = 64  // coverage is counted in 1/coverUnit
)

// credit is how far a match of each kind answers the typed word.
var credit = [...]float64{Typed: 1, Compound: 0.8, Derivation: 0.9, Abbreviation: 0.8, Typo: 0.8, Intent: 0.3}

// cover works out what each term of the plan is worth, and the query.
func (x *Index) cover(p *plan) {
	n := float64(x.len())
	rarest := idf(n, 1)
	var heaviest [weakWords + 1]uint32
	for i := range p.typed {
		w := &p.typed[i]
		worth := rarest * unknown
		switch {
		case w.term != none:
			worth = idf(n, float64(x.df(w.term)))
		case w.filler || p.named(w):
			worth = 0
		}
		w.cover = uint32(math.Round(worth * coverUnit * float64(w.weight) / unit))
		heaviest[weakWords] = w.cover
		slices.SortFunc(heaviest[:], func(a, b uint32) int { return int(b) - int(a) })
	}
	for _, c := range heaviest[:weakWords] {
		p.cover += c
	}
	for i := range p.terms {
		t := &p.terms[i]
		t.cover = uint32(float64(p.typed[t.word].cover) * credit[t.why])
	}
}

// weak reports whether the document covers too little of the query.
func (x *Index) weak(s *scratch, doc uint32) bool {
	return float64(s.cells[doc].cover) < weakShare*float64(s.plan.cover)
}
