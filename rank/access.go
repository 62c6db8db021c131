package rank

import "slices"

// This file reads an index that was extended and its base as one.

// postings are documents in order, what a term adds to the score of each, and
// the fields it occurs in.
type postings struct {
	docs  []uint32
	imps  []uint16
	masks []uint8
}

func (x *Index) len() int {
	if x.base == nil {
		return len(x.docs)
	}
	return len(x.base.docs) + len(x.docs)
}

func (x *Index) doc(d uint32) *docRef {
	if x.base == nil {
		return &x.docs[d]
	}
	if d < x.more.firstDoc {
		return &x.base.docs[d]
	}
	return &x.docs[d-x.more.firstDoc]
}

// term returns the number of a stem that documents have, or none.
func (x *Index) term(stem []byte) uint32 {
	if x.base != nil {
		if t := x.base.term(stem); t != none {
			return t
		}
	}
	if t := x.terms.find(stem); t != none && int(t) < len(x.classOf) {
		return x.more.firstTerm + t
	}
	return none
}

// class returns the number of a class, or none.
func (x *Index) class(name []byte) uint32 {
	if x.base != nil {
		if c := x.base.class(name); c != none {
			return c
		}
	}
	if c := x.terms.find(name); c != none {
		return x.more.firstTerm + c
	}
	return none
}

// owning returns the part of the index that has the term, and its number there.
func (x *Index) owning(t uint32) (*Index, uint32) {
	if x.base != nil && t < x.more.firstTerm {
		return x.base, t
	}
	return x, t - x.more.firstTerm
}

// word is the term as the catalog writes it.
func (x *Index) word(t uint32) []byte {
	x, t = x.owning(t)
	return x.words.at(x.surface[t])
}

func (x *Index) stem(t uint32) []byte {
	x, t = x.owning(t)
	return x.terms.at(t)
}

func (x *Index) classOfTerm(t uint32) uint32 {
	x, t = x.owning(t)
	return x.classOf[t]
}

// membersOf lists the terms of a class.
func (x *Index) membersOf(c uint32) (out [2][]uint32) {
	if x.base == nil {
		out[0] = x.members[x.memberStart[c]:x.memberStart[c+1]]
		return out
	}
	if c < x.more.firstTerm {
		out = x.base.membersOf(c)
	}
	out[1] = x.more.members[c]
	return out
}

// beginning lists the terms whose word begins with a byte.
func (x *Index) beginning(c byte) (out [2][]uint32) {
	if x.base != nil {
		out[0] = x.base.beginning(c)[1]
	}
	out[1] = x.alphabetic[x.letter[c]:x.letter[int(c)+1]]
	return out
}

// keyed lists the documents whose name or id normalises to key.
func (x *Index) keyed(key []byte) (out [2][]uint32) {
	if x.base != nil {
		out[0] = x.base.keyed(key)[1]
	}
	out[1] = x.keys.find(key)
	return out
}

// lists returns the postings of a term.
func (x *Index) lists(t uint32) (out [2]postings) {
	if x.base == nil {
		out[0] = x.list(x.starts[t], x.starts[t+1])
		return out
	}
	if t < x.more.firstTerm {
		out = x.base.lists(t)
	}
	if i, ok := slices.BinarySearch(x.more.terms, t); ok {
		out[1] = x.list(x.starts[i], x.starts[i+1])
	}
	return out
}

func (x *Index) list(from, to uint32) postings {
	return postings{x.postDoc[from:to], x.postImp[from:to], x.postMask[from:to]}
}

// df returns how many documents have the term.
func (x *Index) df(t uint32) int {
	if x.base == nil {
		return int(x.starts[t+1] - x.starts[t])
	}
	lists := x.lists(t)
	return len(lists[0].docs) + len(lists[1].docs)
}

// posting returns what a term adds to a document.
func (x *Index) posting(t, doc uint32) (imp uint16, mask uint8, ok bool) {
	for _, list := range x.lists(t) {
		if at, found := slices.BinarySearch(list.docs, doc); found {
			return list.imps[at], list.masks[at], true
		}
	}
	return 0, 0, false
}
