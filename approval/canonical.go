package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

// canonical writes arguments so that two texts are alike only if they mean the
// same to every reader: without white space, members sorted by name, one way to
// escape, numbers as they were written. Members of one name keep their order,
// since readers differ in which of them counts; a string that decoding would
// damage (half a surrogate pair, bytes that are not UTF-8) stays as it is. Texts
// of one value may still differ, 1 from 1.0: then it is asked once more.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, errors.New("they are not valid JSON")
	}
	w := walker{in: raw}
	out := w.value(make([]byte, 0, len(raw)), maxNesting)
	if w.deep {
		return nil, fmt.Errorf("they are nested deeper than %d", maxNesting)
	}
	return out, nil
}

// maxNesting bounds how deep arguments are nested: each level may be copied
// once to sort it.
const maxNesting = 100

func digestOf(canonical json.RawMessage) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// DigestOf returns the digest of arguments as a Record binds them, "sha256:…".
// It fails for what is not JSON and for what is nested deeper than 100.
func DigestOf(args json.RawMessage) (string, error) {
	canon, err := canonical(args)
	if err != nil {
		return "", fmt.Errorf("digest arguments: %w", err)
	}
	return digestOf(canon), nil
}

// walker reads valid JSON.
type walker struct {
	in   []byte
	at   int
	deep bool // it was nested too deeply, and the walk has stopped
}

// next skips white space and what separates values.
func (w *walker) next() byte {
	for strings.IndexByte(" \t\r\n,:", w.in[w.at]) >= 0 {
		w.at++
	}
	return w.in[w.at]
}

// value appends the next value; left is how many levels may follow.
func (w *walker) value(out []byte, left int) []byte {
	first := w.next()
	if left == 0 && (first == '{' || first == '[') {
		w.deep = true
	}
	if w.deep {
		return out
	}
	switch first {
	case '{':
		return w.object(out, left-1)
	case '[':
		return w.array(out, left-1)
	case '"':
		return w.text(out)
	}
	start := w.at
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n,:]}", w.in[w.at]) < 0 {
		w.at++
	}
	return append(out, w.in[start:w.at]...)
}

func (w *walker) array(out []byte, left int) []byte {
	w.at++
	out = append(out, '[')
	for n := 0; !w.deep && w.next() != ']'; n++ {
		if n > 0 {
			out = append(out, ',')
		}
		out = w.value(out, left)
	}
	w.at++
	return append(out, ']')
}

// object appends the members as they come, and sorts them where they stand.
func (w *walker) object(out []byte, left int) []byte {
	type member struct{ start, name, end int } // behind the bracket
	var members []member
	w.at++
	out = append(out, '{')
	body := len(out)
	for !w.deep && w.next() != '}' {
		if len(members) > 0 {
			out = append(out, ',')
		}
		m := member{start: len(out) - body}
		out = w.text(out)
		m.name = len(out) - body
		out = w.value(append(out, ':'), left)
		m.end = len(out) - body
		members = append(members, m)
	}
	w.at++
	as := out[body:]
	byName := func(a, b member) int { return bytes.Compare(as[a.start:a.name], as[b.start:b.name]) }
	if !slices.IsSortedFunc(members, byName) {
		as = bytes.Clone(as)
		slices.SortStableFunc(members, byName)
		out = out[:body]
		for i, m := range members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, as[m.start:m.end]...)
		}
	}
	return append(out, '}')
}

// text appends a string in the one form that Encode gives it, unless decoding
// put a replacement character into it.
func (w *walker) text(out []byte) []byte {
	w.next()
	start := w.at
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	raw := w.in[start:w.at]
	if bytes.IndexByte(raw, '\\') < 0 && plain(raw) {
		return append(out, raw...)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || strings.ContainsRune(s, utf8.RuneError) {
		return append(out, raw...)
	}
	encoded, err := tool.Encode(s)
	if err != nil {
		return append(out, raw...)
	}
	return append(out, encoded...)
}

// plain reports text that Encode would not change.
func plain(raw []byte) bool {
	for _, b := range raw {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
