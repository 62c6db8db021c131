package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// limits bounds what decode accepts. Each is checked before the work it
// bounds is done: depth before recursion, nodes before allocation.
type limits struct {
	bytes int // length of the text
	depth int // arrays and objects inside one another
	nodes int // values of any kind
}

// Numbers are bounded because exact arithmetic on them is: 1e999999999 is
// eleven bytes of text and a gigabyte of digits.
const (
	maxNumberText     = 1000
	maxNumberExponent = 400
)

// syntaxError says why a text is not JSON that this package accepts.
type syntaxError struct {
	offset int // in bytes
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.offset, e.what) }

// decode reads one JSON value into the validator's data model: nil, bool,
// json.Number, string, []any and map[string]any. Numbers keep their text.
// Invalid UTF-8, a name given twice in one object, and anything over the
// limits are errors, since two readers could understand such a text
// differently. An unpaired surrogate escape becomes U+FFFD.
func decode(raw []byte, lim limits) (any, error) {
	if len(raw) > lim.bytes {
		return nil, &syntaxError{0, fmt.Sprintf("%d bytes long, at most %d are read", len(raw), lim.bytes)}
	}
	if !utf8.Valid(raw) {
		return nil, &syntaxError{0, "not valid UTF-8"}
	}
	d := decoder{s: string(raw), lim: lim}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	d.space()
	if d.i < len(d.s) {
		return nil, d.fail("something follows the JSON value")
	}
	return v, nil
}

type decoder struct {
	s     string
	i     int
	nodes int
	lim   limits
}

func (d *decoder) fail(format string, args ...any) error {
	return &syntaxError{d.i, fmt.Sprintf(format, args...)}
}

func (d *decoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// next skips space and returns the byte there, 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.i >= len(d.s) {
		return 0
	}
	return d.s[d.i]
}

func (d *decoder) value(depth int) (any, error) {
	if d.nodes++; d.nodes > d.lim.nodes {
		return nil, d.fail("more than %d values", d.lim.nodes)
	}
	switch c := d.next(); c {
	case '{', '[':
		if depth >= d.lim.depth {
			return nil, d.fail("nested deeper than %d levels", d.lim.depth)
		}
		d.i++
		if c == '{' {
			return d.object(depth + 1)
		}
		return d.array(depth + 1)
	case '"':
		return d.text()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	case 0:
		return nil, d.fail("the text ends where a value is expected")
	default:
		return d.number()
	}
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.s[d.i:], w) {
		return d.fail("expected a JSON value")
	}
	d.i += len(w)
	return nil
}

func (d *decoder) array(depth int) (any, error) {
	out := []any{}
	if d.next() == ']' {
		d.i++
		return out, nil
	}
	for {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		switch d.next() {
		case ',':
			d.i++
		case ']':
			d.i++
			return out, nil
		default:
			return nil, d.fail("expected ',' or ']' in an array")
		}
	}
}

func (d *decoder) object(depth int) (any, error) {
	out := map[string]any{}
	if d.next() == '}' {
		d.i++
		return out, nil
	}
	for {
		if d.next() != '"' {
			return nil, d.fail("expected a property name in double quotes")
		}
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, d.fail("property %s is given twice", quote(clip(name, 64)))
		}
		if d.next() != ':' {
			return nil, d.fail("expected ':' after a property name")
		}
		d.i++
		if out[name], err = d.value(depth); err != nil {
			return nil, err
		}
		switch d.next() {
		case ',':
			d.i++
		case '}':
			d.i++
			return out, nil
		default:
			return nil, d.fail("expected ',' or '}' in an object")
		}
	}
}

// text reads a string; d.i is at its opening quote. A string without escapes
// shares the memory of the whole text.
func (d *decoder) text() (string, error) {
	d.i++
	start := d.i
	for d.i < len(d.s) {
		switch c := d.s[d.i]; {
		case c == '"':
			d.i++
			return d.s[start : d.i-1], nil
		case c == '\\':
			return d.escaped(start)
		case c < 0x20:
			return "", d.fail("a control character inside a string must be escaped")
		default:
			d.i++
		}
	}
	return "", d.fail("a string is not closed")
}

// escaped goes on with a string whose first escape is at d.i.
func (d *decoder) escaped(start int) (string, error) {
	var b strings.Builder
	b.WriteString(d.s[start:d.i])
	for d.i < len(d.s) {
		c := d.s[d.i]
		switch {
		case c == '"':
			d.i++
			return b.String(), nil
		case c < 0x20:
			return "", d.fail("a control character inside a string must be escaped")
		case c != '\\':
			b.WriteByte(c)
			d.i++
		default:
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		}
	}
	return "", d.fail("a string is not closed")
}

// escape reads one escape sequence; d.i is at its backslash.
func (d *decoder) escape() (rune, error) {
	if d.i+1 >= len(d.s) {
		return 0, d.fail("a string is not closed")
	}
	if d.s[d.i+1] == 'u' {
		return d.unicode()
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	k := strings.IndexByte(from, d.s[d.i+1])
	if k < 0 {
		return 0, d.fail("unknown escape in a string")
	}
	d.i += 2
	return rune(to[k]), nil
}

func (d *decoder) unicode() (rune, error) {
	r, ok := d.hex4(d.i)
	if !ok {
		return 0, d.fail("\\u needs four hexadecimal digits")
	}
	d.i += 6
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if low, ok := d.hex4(d.i); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			d.i += 6
			return pair, nil
		}
	}
	return utf8.RuneError, nil
}

// hex4 reads an escape of four hex digits at byte at.
func (d *decoder) hex4(at int) (rune, bool) {
	if at+6 > len(d.s) || d.s[at] != '\\' || d.s[at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(d.s[at+2 : at+6]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number reads a number by JSON's grammar and checks that exact arithmetic on
// it is cheap.
func (d *decoder) number() (any, error) {
	start := d.i
	if d.i < len(d.s) && d.s[d.i] == '-' {
		d.i++
	}
	zero := d.i < len(d.s) && d.s[d.i] == '0'
	if whole := d.digits(); whole == 0 || zero && whole > 1 {
		d.i = start
		return nil, d.fail("expected a JSON value")
	}
	if d.i < len(d.s) && d.s[d.i] == '.' {
		d.i++
		if d.digits() == 0 {
			return nil, d.fail("a digit must follow the decimal point")
		}
	}
	if d.i < len(d.s) && d.s[d.i]|0x20 == 'e' {
		if err := d.exponent(); err != nil {
			return nil, err
		}
	}
	if d.i-start > maxNumberText {
		return nil, d.fail("a number is longer than %d characters", maxNumberText)
	}
	return json.Number(d.s[start:d.i]), nil
}

func (d *decoder) digits() int {
	start := d.i
	for d.i < len(d.s) && d.s[d.i] >= '0' && d.s[d.i] <= '9' {
		d.i++
	}
	return d.i - start
}

func (d *decoder) exponent() error {
	d.i++
	if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
		d.i++
	}
	start := d.i
	if d.digits() == 0 {
		return d.fail("a digit must follow the exponent sign")
	}
	exp := 0
	for _, c := range []byte(d.s[start:d.i]) {
		if exp = exp*10 + int(c-'0'); exp > maxNumberExponent {
			return d.fail("a number's exponent is beyond %d", maxNumberExponent)
		}
	}
	return nil
}
