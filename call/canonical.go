package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Digest identifies a JSON value, however it is written: SHA-256 over its
// canonical form.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a JSON text's canonical form. What is no JSON
// is an error.
func DigestOf(raw json.RawMessage) (Digest, error) {
	text, err := Canonical(raw)
	if err != nil {
		return Digest{}, err
	}
	return sha256.Sum256(text), nil
}

// Canonical writes a JSON text in the one form that all texts of the same value
// have: no white space, members sorted by the bytes of their names, one way to
// escape, and numbers by their exact decimal value (1, 1.0 and 10e-1 are one;
// 9007199254740993 is not 9007199254740992). Members of one name keep their order,
// since readers differ in which of them counts; halves of surrogate pairs and bytes
// that are not UTF-8 stay what they are. The form is for comparing and for reading;
// it is not RFC 8785, whose numbers are doubles.
//
// What is not valid JSON, or nested deeper than 128, is an error.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	return canonicalizer{in: raw}.run()
}

// CanonicalLiteral is Canonical with numbers as they are written: 1 and 1.0 are
// one value, but not one text, and some readers tell them apart.
func CanonicalLiteral(raw json.RawMessage) (json.RawMessage, error) {
	return canonicalizer{in: raw, literal: true}.run()
}

// maxNesting bounds how deep a canonical text is nested: each level that is out
// of order is copied once to sort it.
const maxNesting = 128

// nesting returns how deep a valid JSON text is nested.
func nesting(raw []byte) int {
	depth, most := 0, 0
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// canonicalizer walks a valid JSON text that is nested at most maxNesting deep.
type canonicalizer struct {
	in      []byte
	at      int
	literal bool // numbers stay as they are written
}

func (c canonicalizer) run() (json.RawMessage, error) {
	if !json.Valid(c.in) {
		return nil, errors.New("bring JSON into canonical form: this is not valid JSON")
	}
	if nesting(c.in) > maxNesting {
		return nil, fmt.Errorf("bring JSON into canonical form: it is nested deeper than %d", maxNesting)
	}
	return c.value(make([]byte, 0, len(c.in))), nil
}

func (c *canonicalizer) skip() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

// value appends the canonical form of the next value.
func (c *canonicalizer) value(out []byte) []byte {
	c.skip()
	switch c.in[c.at] {
	case '{':
		return c.object(out)
	case '[':
		c.at++
		out = append(out, '[')
		for first := true; !c.ends(']'); first = false {
			if !first {
				out = append(out, ',')
			}
			out = c.value(out)
		}
		return append(out, ']')
	case '"':
		return c.text(out)
	case 't', 'n':
		c.at += 4
		return append(out, c.in[c.at-4:c.at]...)
	case 'f':
		c.at += 5
		return append(out, "false"...)
	}
	start := c.at
	for c.at < len(c.in) && bytes.IndexByte([]byte("+-.0123456789eE"), c.in[c.at]) >= 0 {
		c.at++
	}
	if c.literal {
		return append(out, c.in[start:c.at]...)
	}
	return appendNumber(out, c.in[start:c.at])
}

// ends skips a comma, and reports whether the closing bracket came and was
// read.
func (c *canonicalizer) ends(bracket byte) bool {
	c.skip()
	if c.in[c.at] == ',' {
		c.at++
		return false
	}
	if c.in[c.at] == bracket {
		c.at++
		return true
	}
	return false
}

// object writes the members as they come and, where they are out of order,
// once more in order.
func (c *canonicalizer) object(out []byte) []byte {
	type member struct{ start, name, end int } // positions behind body
	var buf [16]member
	members, sorted := buf[:0], true
	c.at++
	out = append(out, '{')
	body := len(out)
	for !c.ends('}') {
		if len(members) > 0 {
			out = append(out, ',')
		}
		m := member{start: len(out) - body}
		c.skip()
		out = c.text(out)
		m.name = len(out) - body
		c.skip()
		c.at++ // the colon
		out = c.value(append(out, ':'))
		m.end = len(out) - body
		if n := len(members); n > 0 && sorted {
			last := members[n-1]
			sorted = bytes.Compare(out[body+last.start:body+last.name], out[body+m.start:body+m.name]) <= 0
		}
		members = append(members, m)
	}
	if !sorted {
		copied := bytes.Clone(out[body:])
		slices.SortStableFunc(members, func(a, b member) int {
			return bytes.Compare(copied[a.start:a.name], copied[b.start:b.name])
		})
		out = out[:body]
		for i, m := range members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, copied[m.start:m.end]...)
		}
	}
	return append(out, '}')
}

// text appends a string in its shortest form: what must be escaped is, by \" \\
// or \u00xx, and half a surrogate pair by \udxxx; all else stands for itself.
func (c *canonicalizer) text(out []byte) []byte {
	c.at++ // the quotation mark
	out = append(out, '"')
	for {
		end := bytes.IndexAny(c.in[c.at:], "\"\\")
		out = append(out, c.in[c.at:c.at+end]...)
		c.at += end + 1
		if c.in[c.at-1] == '"' {
			return append(out, '"')
		}
		out = c.escape(out)
	}
}

// escape appends what an escape stands for; the backslash was read.
func (c *canonicalizer) escape(out []byte) []byte {
	kind := c.in[c.at]
	c.at++
	switch kind {
	case '"', '\\':
		return append(out, '\\', kind)
	case '/':
		return append(out, '/')
	case 'b':
		return appendChar(out, '\b')
	case 'f':
		return appendChar(out, '\f')
	case 'n':
		return appendChar(out, '\n')
	case 'r':
		return appendChar(out, '\r')
	case 't':
		return appendChar(out, '\t')
	}
	r := c.hex()
	if utf16.IsSurrogate(r) && bytes.HasPrefix(c.in[c.at:], []byte(`\u`)) {
		back := c.at
		c.at += 2
		if pair := utf16.DecodeRune(r, c.hex()); pair != utf8.RuneError {
			return utf8.AppendRune(out, pair)
		}
		c.at = back
	}
	return appendChar(out, r)
}

// hex reads the four digits of a \u escape.
func (c *canonicalizer) hex() rune {
	n, _ := strconv.ParseUint(string(c.in[c.at:c.at+4]), 16, 16) // valid JSON has four digits here
	c.at += 4
	return rune(n)
}

// appendChar appends one character that was written as an escape.
func appendChar(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r < 0x20 || utf16.IsSurrogate(r):
		return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	return utf8.AppendRune(out, r)
}

// Numbers of up to maxPlain digits before the point and maxPlain behind it are
// written plainly, larger and smaller ones with a power of ten.
const maxPlain = 40

// appendNumber writes a number by its exact decimal value: without zeros that say
// nothing, plainly or as digits and a power of ten, and every zero as 0. A number
// whose power of ten does not fit into 32 bits stands as it was written.
func appendNumber(out, lit []byte) []byte {
	if len(lit) <= maxPlain && !bytes.ContainsAny(lit, ".eE-") {
		return append(out, lit...) // JSON has no leading zeros
	}
	mantissa, power, has := bytes.Cut(bytes.ToLower(lit), []byte("e"))
	var exp int64
	if has {
		n, err := strconv.ParseInt(string(power), 10, 32)
		if err != nil {
			return append(out, lit...)
		}
		exp = n
	}
	mantissa, negative := bytes.CutPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := bytes.TrimLeft(append(bytes.Clone(whole), fraction...), "0")
	exp -= int64(len(fraction))
	trimmed := bytes.TrimRight(digits, "0")
	exp += int64(len(digits) - len(trimmed))
	if len(trimmed) == 0 {
		return append(out, '0')
	}
	if negative {
		out = append(out, '-')
	}
	return appendDecimal(out, trimmed, exp)
}

// appendDecimal writes digits × 10^exp; the digits end with none that is 0.
func appendDecimal(out, digits []byte, exp int64) []byte {
	point := int64(len(digits)) + exp // digits before the decimal point
	switch {
	case exp >= 0 && point <= maxPlain:
		return append(append(out, digits...), bytes.Repeat([]byte("0"), int(exp))...)
	case exp < 0 && exp >= -maxPlain && point > 0:
		return append(append(append(out, digits[:point]...), '.'), digits[point:]...)
	case exp < 0 && exp >= -maxPlain:
		out = append(append(out, '0', '.'), bytes.Repeat([]byte("0"), int(-point))...)
		return append(out, digits...)
	}
	return strconv.AppendInt(append(append(out, digits...), 'e'), exp, 10)
}
