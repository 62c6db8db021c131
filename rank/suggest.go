package rank

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// MaxSuggest is how many names Suggest returns at most.
const MaxSuggest = 50

// Suggest returns the documents whose name or id is nearest to a mistyped one,
// nearest first, at most n. It compares letters (edit distance, so that
// crete_issue finds create_issue) and words (so that issue_create finds it
// too), and leaves out what has little in common with the name.
func (x *Index) Suggest(name string, n int) []int {
	n = min(n, MaxSuggest)
	wanted := newSuggestName(x, name)
	if n < 1 || len(wanted.key) == 0 {
		return nil
	}
	type candidate struct {
		doc   int
		score float64
	}
	var found []candidate
	var buf []byte
	for i := range x.len() {
		d := x.doc(uint32(i))
		buf = normal(buf[:0], d.name)
		score := likeness(wanted.key, buf)
		if wanted.qualified {
			buf = normal(buf[:0], d.id)
			score = max(score, likeness(wanted.full, buf))
		}
		score += float64(wanted.shared[uint32(i)]) / float64(max(1, wanted.words))
		if score >= minLikeness {
			found = append(found, candidate{i, score})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(x.doc(uint32(a.doc)).id, x.doc(uint32(b.doc)).id), a.doc-b.doc)
	})
	out := make([]int, 0, min(n, len(found)))
	for _, c := range found[:min(n, len(found))] {
		out = append(out, c.doc)
	}
	return out
}

// minLikeness is the least a suggestion has in common with the name: half of
// its words, or two thirds of its letters in place.
const minLikeness = 0.5

// suggestName is a mistyped name taken apart.
type suggestName struct {
	full, key []byte // normalised: all of it, and what follows the last colon
	qualified bool   // it has a colon, as ids do
	words     int
	shared    map[uint32]int // document → words of the name that its name has
}

func newSuggestName(x *Index, name string) suggestName {
	name = trim(clip(name, maxKey))
	s := suggestName{full: normal(nil, name), shared: map[uint32]int{}}
	last := name
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		last, s.qualified = name[i+1:], true
	}
	s.key = normal(nil, last)
	var p plan
	x.read(&p, last)
	s.words = len(p.typed)
	for _, t := range p.terms {
		if t.why != Typed && t.why != Typo {
			continue
		}
		for _, list := range x.lists(t.id) {
			for j, d := range list.docs {
				if list.masks[j]&(1<<Name) != 0 {
					s.shared[d]++
				}
			}
		}
	}
	return s
}

// unlike counts the letters that one of the names has and the other lacks, which
// no swap mends: there are at least as many edits between them. It is soon told,
// and spares most names of a catalog the table of edits.
func unlike(a, b []byte) int {
	var left [256]int8 // of b; maxToken bounds the counts
	for _, c := range b {
		left[c]++
	}
	lacking := 0
	for _, c := range a {
		if left[c]--; left[c] < 0 {
			lacking++
		}
	}
	return max(lacking, lacking+len(b)-len(a))
}

// likeness is 2 for equal names. For others it falls from 1 with the edits between
// them, and is 0 above a third of their length.
func likeness(a, b []byte) float64 {
	if bytes.Equal(a, b) {
		return 2
	}
	a, b = a[:min(len(a), maxToken)], b[:min(len(b), maxToken)]
	limit := max(len(a), len(b)) / 3
	if unlike(a, b) > limit {
		return 0
	}
	d := distance(a, b, limit)
	if d > limit {
		return 0
	}
	return 1 - float64(d)/float64(max(len(a), len(b)))
}
