package json5

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Errors of the number accessors.
var (
	// ErrNotInteger: the number has a fraction, or is NaN or infinite.
	ErrNotInteger = errors.New("not an integer")
	// ErrRange: the number does not fit; the value returned beside it is the
	// nearest that does.
	ErrRange = errors.New("out of range")
	// ErrNoJSON: JSON has no NaN and no infinity.
	ErrNoJSON = errors.New("JSON cannot express NaN or Infinity")
)

// Str returns the decoded text of a string, and "" for any other kind.
func (n *Node) Str() string {
	if n.Kind == String {
		return n.text
	}
	return ""
}

// Bool reports whether the node is true.
func (n *Node) Bool() bool { return n.Kind == Bool && n.text == "true" }

// Literal returns a number as it was written, and "" for any other kind.
func (n *Node) Literal() string {
	if n.Kind == Number {
		return n.text
	}
	return ""
}

// Int64 returns an integer number exactly. 1e3 and 2.0 are integers. The error
// is ErrNotInteger or ErrRange.
func (n *Node) Int64() (int64, error) {
	lit := strings.TrimPrefix(n.Literal(), "+")
	if magnitude, negative, ok := hexDigits(lit); ok {
		if negative {
			magnitude = "-" + magnitude
		}
		return saturate(strconv.ParseInt(magnitude, 16, 64))
	}
	if strings.Trim(lit, "-0123456789") == "" && lit != "" {
		return saturate(strconv.ParseInt(lit, 10, 64))
	}
	f, err := n.Float64()
	if errors.Is(err, ErrRange) {
		return saturateFloat(f)
	}
	if err != nil || f != math.Trunc(f) || math.IsInf(f, 0) {
		return 0, ErrNotInteger
	}
	const limit = 1 << 63 // exact as a float
	if f >= limit || f < -limit {
		return saturateFloat(f)
	}
	return int64(f), nil
}

func saturate(v int64, err error) (int64, error) {
	if err != nil {
		return v, ErrRange // ParseInt saturates; the digits are known to be good
	}
	return v, nil
}

func saturateFloat(f float64) (int64, error) {
	if f < 0 {
		return math.MinInt64, ErrRange
	}
	return math.MaxInt64, ErrRange
}

// Float64 returns the nearest float, as JavaScript reads it. The error is
// ErrRange when a finite literal is too large, ErrNotInteger for no number.
func (n *Node) Float64() (float64, error) {
	lit := strings.TrimPrefix(n.Literal(), "+")
	if magnitude, negative, ok := hexDigits(lit); ok {
		i, _ := new(big.Int).SetString(magnitude, 16)
		f, _ := new(big.Float).SetInt(i).Float64()
		if negative {
			f = -f
		}
		if math.IsInf(f, 0) {
			return f, ErrRange
		}
		return f, nil
	}
	switch lit {
	case "":
		return 0, ErrNotInteger
	case "-NaN": // strconv knows no sign here
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil && math.IsInf(f, 0) {
		return f, ErrRange
	}
	return f, nil
}

func hexDigits(lit string) (digits string, negative, ok bool) {
	lit, negative = strings.CutPrefix(lit, "-")
	if len(lit) > 2 && lit[0] == '0' && (lit[1] == 'x' || lit[1] == 'X') {
		return lit[2:], negative, true
	}
	return "", false, false
}

// JSON returns the value as compact strict JSON: members in the text's order
// (of a repeated key the last), every digit of every number kept. The error is
// ErrNoJSON.
func (n *Node) JSON() (json.RawMessage, error) {
	b, err := n.appendJSON(nil)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (n *Node) appendJSON(b []byte) (_ []byte, err error) {
	switch n.Kind {
	case String:
		return append(b, Quote(n.text, '"')...), nil
	case Number:
		return appendNumber(b, n.text)
	case Array:
		b = append(b, '[')
		for i, e := range n.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = e.appendJSON(b); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case Object:
		last := make(map[string]int, len(n.Members))
		for i, m := range n.Members {
			last[m.Key] = i
		}
		b = append(b, '{')
		for i, m := range n.Members {
			if last[m.Key] != i {
				continue
			}
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(append(b, Quote(m.Key, '"')...), ':')
			if b, err = m.Value.appendJSON(b); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return append(b, n.text...), nil
}

func appendNumber(b []byte, lit string) ([]byte, error) {
	lit = strings.TrimPrefix(lit, "+")
	if digits, negative, ok := hexDigits(lit); ok {
		if negative {
			b = append(b, '-')
		}
		i, _ := new(big.Int).SetString(digits, 16)
		return i.Append(b, 10), nil
	}
	lit, negative := strings.CutPrefix(lit, "-")
	if lit == "Infinity" || lit == "NaN" {
		return nil, ErrNoJSON
	}
	if negative {
		b = append(b, '-')
	}
	mantissa, exponent := lit, ""
	if e := strings.IndexAny(lit, "eE"); e >= 0 {
		mantissa, exponent = lit[:e], lit[e:]
	}
	mantissa = strings.TrimSuffix(mantissa, ".")
	if mantissa[0] == '.' {
		b = append(b, '0')
	}
	return append(append(b, mantissa...), exponent...), nil
}

// Quote writes a string literal in the given quote, " or '. Characters that do
// not print or that reorder text are escaped; with '"' the result is JSON too.
func Quote(s string, quote byte) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	unit := func(u rune) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[u>>shift&0xF])
		}
	}
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			unit(high)
			unit(low)
		default:
			unit(r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}
