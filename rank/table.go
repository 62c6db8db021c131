package rank

import (
	"bytes"
	"hash/maphash"
)

// table numbers distinct strings from 0 in the order of their first use. It
// is a flat open-addressing hash table: one byte slice for all strings, no
// pointers for the collector to follow.
type table struct {
	blob  []byte
	ends  []uint32 // string i is blob[ends[i-1]:ends[i]]
	slots []uint32 // number + 1, or 0 where free; a power of two long
	seed  maphash.Seed
}

// newTable returns an empty table. Its hash is seeded at random, so that no
// catalog can be made to collide; the numbers do not depend on it.
func newTable() table { return table{seed: maphash.MakeSeed()} }

const none = ^uint32(0)

func (t *table) len() int { return len(t.ends) }

func (t *table) at(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.blob[start:t.ends[i]]
}

// find returns the number of s, or none.
func (t *table) find(s []byte) uint32 {
	if len(t.slots) == 0 {
		return none
	}
	mask := maphash.Bytes(t.seed, s) & uint64(len(t.slots)-1)
	for ; t.slots[mask] != 0; mask = (mask + 1) & uint64(len(t.slots)-1) {
		if i := t.slots[mask] - 1; bytes.Equal(t.at(i), s) {
			return i
		}
	}
	return none
}

// add returns the number of s, giving it one if it is new.
func (t *table) add(s []byte) uint32 {
	if i := t.find(s); i != none {
		return i
	}
	if (len(t.ends)+1)*2 > len(t.slots) {
		t.grow()
	}
	t.blob = append(t.blob, s...)
	t.ends = append(t.ends, uint32(len(t.blob)))
	i := uint32(len(t.ends) - 1)
	t.place(i)
	return i
}

func (t *table) grow() {
	t.slots = make([]uint32, max(64, len(t.slots)*2))
	for i := range t.ends {
		t.place(uint32(i))
	}
}

func (t *table) place(i uint32) {
	mask := maphash.Bytes(t.seed, t.at(i)) & uint64(len(t.slots)-1)
	for t.slots[mask] != 0 {
		mask = (mask + 1) & uint64(len(t.slots)-1)
	}
	t.slots[mask] = i + 1
}

func (t *table) bytes() int64 { return int64(cap(t.blob)) + 4*int64(cap(t.ends)+cap(t.slots)) }
