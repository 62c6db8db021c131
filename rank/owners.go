package rank

import "slices"

// ownerTable tells which owners a query names. A query names an owner if it
// has every word of the owner's name that is not common to many owners.
type ownerTable struct {
	size  []uint8  // owner → how many words it takes to name it
	start []uint32 // term t names owners[start[t]:start[t+1]] in part
	list  []uint32
}

// maxOwnerWords bounds the words of an owner's name that count.
const maxOwnerWords = 8

// owners builds the table and gives each document its owner.
func (b *builder) owners(docs []Document) ownerTable {
	names := newTable()
	var terms [][]uint32
	for i := range docs {
		text := clip(docs[i].Text[Owner], maxFieldBytes)
		if text == "" {
			continue
		}
		n := names.add([]byte(text))
		b.x.docs[i].owner = n
		if int(n) == len(terms) {
			terms = append(terms, b.ownerTerms(text))
		}
	}
	used := make([]uint32, b.x.terms.len()+1)
	for _, list := range terms {
		for _, t := range list {
			used[t]++
		}
	}
	var t ownerTable
	t.size = make([]uint8, len(terms))
	t.start = make([]uint32, b.x.terms.len()+1)
	common := uint32(max(3, len(terms)/10))
	for n, list := range terms {
		terms[n] = slices.DeleteFunc(list, func(t uint32) bool { return used[t] > common })
		t.size[n] = uint8(len(terms[n]))
		for _, term := range terms[n] {
			t.start[term+1]++
		}
	}
	for i := 1; i < len(t.start); i++ {
		t.start[i] += t.start[i-1]
	}
	t.list = make([]uint32, t.start[len(t.start)-1])
	next := slices.Clone(t.start)
	for n, list := range terms {
		for _, term := range list {
			t.list[next[term]] = uint32(n)
			next[term]++
		}
	}
	return t
}

// ownerTerms returns the distinct terms of an owner's name.
func (b *builder) ownerTerms(text string) []uint32 {
	b.toks.reset()
	b.toks.scan(text, maxOwnerWords)
	var out []uint32
	for _, k := range b.toks.list {
		w := b.toks.bytes(k)
		if _, stop := b.lex.stop[string(w)]; stop || k.kind == joined || k.kind == stemOf {
			continue
		}
		if t := b.term(w); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// of lists the owners that the term names in part.
func (t *ownerTable) of(term uint32) []uint32 {
	if int(term)+1 >= len(t.start) {
		return nil // a term of what was added to the index
	}
	return t.list[t.start[term]:t.start[term+1]]
}

func (t *ownerTable) bytes() int64 {
	return int64(cap(t.size)) + 4*int64(cap(t.start)+cap(t.list))
}
