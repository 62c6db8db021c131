package rank

import (
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// keyTable finds documents by exact name or id.
type keyTable struct {
	keys  table    // normalised names and ids
	start []uint32 // key k's documents are docs[start[k]:start[k+1]]
	docs  []uint32
}

func newKeyTable(refs []docRef) keyTable {
	t := keyTable{keys: newTable()}
	type pair struct{ key, doc uint32 }
	pairs := make([]pair, 0, 2*len(refs))
	var buf []byte
	for i, d := range refs {
		for _, s := range [...]string{d.name, d.id} {
			if buf = normal(buf[:0], s); len(buf) > 0 {
				pairs = append(pairs, pair{t.keys.add(buf), uint32(i)})
			}
		}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].key < pairs[j].key })
	pairs = slices.Compact(pairs)
	t.start = make([]uint32, t.keys.len()+1)
	for _, p := range pairs {
		t.start[p.key+1]++
		t.docs = append(t.docs, p.doc)
	}
	for k := range t.keys.len() {
		t.start[k+1] += t.start[k]
	}
	return t
}

// find returns the documents whose name or id normalises to key.
func (t *keyTable) find(key []byte) []uint32 {
	if len(key) == 0 {
		return nil
	}
	k := t.keys.find(key)
	if k == none {
		return nil
	}
	return t.docs[t.start[k]:t.start[k+1]]
}

func (t *keyTable) bytes() int64 { return t.keys.bytes() + 4*int64(cap(t.start)+cap(t.docs)) }

// maxKey bounds the bytes of a name or id that can be matched exactly.
const maxKey = 512

// normal appends s in the form under which names are compared: lower case,
// with '-', '.' and blanks as '_'.
func normal(dst []byte, s string) []byte {
	if len(s) > maxKey {
		return dst
	}
	for _, r := range s {
		switch r {
		case '-', '.', ' ', '\t', '\n', '\r':
			r = '_'
		default:
			r = unicode.ToLower(r)
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
