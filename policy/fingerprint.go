package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
)

// fingerprint hashes what the filters decide. Within a list neither order nor
// repetition matters to the result, so both are taken out.
func fingerprint(filters []filter) string {
	h := sha256.New()
	writeTexts(h, "toolsearch policy 1", builtinText)
	for i := range filters {
		f := &filters[i]
		profile := ""
		if f.profile != nil {
			profile = profileKey(f.profileAt.entry.Pattern)
		}
		writeTexts(h, f.scope.String(), profile)
		writeList(h, f.also)
		writeList(h, f.allow)
		writeList(h, f.deny)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeTexts writes texts so that no two sequences of texts look alike.
func writeTexts(h hash.Hash, texts ...string) {
	var buf []byte
	buf = binary.AppendUvarint(buf, uint64(len(texts)))
	for _, t := range texts {
		buf = binary.AppendUvarint(buf, uint64(len(t)))
		buf = append(buf, t...)
	}
	h.Write(buf)
}

// writeList writes a list's entries as they are matched, sorted, each once. An
// absent list differs from one whose entries match nothing.
func writeList(h hash.Hash, l *list) {
	if l == nil {
		writeTexts(h)
		return
	}
	patterns := make([]string, len(l.rules))
	for i := range l.rules {
		patterns[i] = fold(strings.TrimSpace(l.rules[i].entry.Pattern), l.broad)
	}
	slices.Sort(patterns)
	writeTexts(h, slices.Compact(patterns)...)
}
