package json5

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// isNameStart and isNamePart are ECMAScript 5.1's IdentifierStart and
// IdentifierPart, without escapes.
func isNameStart(r rune) bool {
	return r == '$' || r == '_' || unicode.IsLetter(r) || r > 0x7F && unicode.Is(unicode.Nl, r)
}

func isNamePart(r rune) bool {
	return isNameStart(r) || r >= '0' && r <= '9' || r == '\u200C' || r == '\u200D' ||
		r > 0x7F && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}

const aKey = "a key or '}'"

// key reads a quoted key or an identifier name.
func (p *parser) key() (string, *Error) {
	if p.pos < len(p.src) && (p.src[p.pos] == '"' || p.src[p.pos] == '\'') {
		return p.quoted()
	}
	start := p.pos
	var b strings.Builder
	for p.pos < len(p.src) {
		at := p.pos
		r, n := utf8.DecodeRuneInString(p.src[at:])
		escaped := r == '\\'
		if escaped {
			if !strings.HasPrefix(p.src[at:], `\u`) {
				return "", p.fail(at, `only \u escapes are allowed in a key without quotes`)
			}
			unit, err := p.hex(at+2, 4)
			if err != nil {
				return "", err
			}
			r, n = rune(unit), 6
		}
		ok := isNamePart(r)
		if at == start {
			ok = isNameStart(r)
		}
		if !ok {
			if escaped {
				return "", p.fail(at, "%s may not stand in a key without quotes", showRune(r))
			}
			break
		}
		b.WriteRune(r)
		p.pos += n
	}
	if p.pos == start {
		return "", p.unexpected(aKey)
	}
	return b.String(), nil
}

// quoted reads a string in single or double quotes. A lone surrogate escape
// becomes U+FFFD, since UTF-8 cannot hold it.
func (p *parser) quoted() (string, *Error) {
	start, quote := p.pos, p.src[p.pos]
	p.pos++
	var b strings.Builder
	for from := p.pos; p.pos < len(p.src); {
		switch c := p.src[p.pos]; c {
		case quote:
			b.WriteString(p.src[from:p.pos])
			p.pos++
			return b.String(), nil
		case '\n', '\r':
			return "", p.fail(p.pos, "the line ends inside a string that began at its quote; expected %c", quote)
		case '\\':
			b.WriteString(p.src[from:p.pos])
			if err := p.escape(&b); err != nil {
				return "", err
			}
			from = p.pos
		default:
			p.pos++
		}
	}
	return "", p.fail(start, "this string never ends; expected %c", quote)
}

// escape reads one escape sequence, which begins at the current position.
func (p *parser) escape(b *strings.Builder) *Error {
	at := p.pos
	if at+1 >= len(p.src) {
		return p.fail(at, "the text ends inside a string")
	}
	r, n := utf8.DecodeRuneInString(p.src[at+1:])
	p.pos = at + 1 + n
	switch r {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'v':
		b.WriteByte('\v')
	case '\r': // a continued line
		p.take('\n')
	case '\n', '\u2028', '\u2029':
	case 'x', 'u':
		return p.hexEscape(b, at, r)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if r != '0' || p.pos < len(p.src) && isDigit(p.src[p.pos]) {
			return p.fail(at, `octal escapes are not allowed; write \xHH or \uHHHH`)
		}
		b.WriteByte(0)
	default:
		b.WriteRune(r)
	}
	return nil
}

func (p *parser) hexEscape(b *strings.Builder, at int, kind rune) *Error {
	digits := 4
	if kind == 'x' {
		digits = 2
	}
	unit, err := p.hex(p.pos, digits)
	if err != nil {
		return err
	}
	p.pos += digits
	r := rune(unit)
	if utf16.IsSurrogate(r) && strings.HasPrefix(p.src[p.pos:], `\u`) {
		low, err := p.hex(p.pos+2, 4)
		if err != nil {
			return err
		}
		if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
			p.pos += 6
			r = pair
		}
	}
	b.WriteRune(r) // writes U+FFFD for what is still a surrogate
	return nil
}

func (p *parser) hex(at, digits int) (uint64, *Error) {
	for i := at; i < at+digits; i++ {
		if i >= len(p.src) || !isHex(p.src[i]) {
			return 0, p.fail(min(i, len(p.src)), "expected %d hexadecimal digits", digits)
		}
	}
	v, err := strconv.ParseUint(p.src[at:at+digits], 16, 32)
	if err != nil {
		return 0, p.fail(at, "expected %d hexadecimal digits", digits)
	}
	return v, nil
}

// number reads a number; the literal is kept as it stands.
func (p *parser) number() (*Node, *Error) {
	start := p.pos
	if c := p.src[p.pos]; c == '+' || c == '-' {
		p.pos++
	}
	if err := p.unsigned(); err != nil {
		return nil, err
	}
	if p.pos-start > maxNumber {
		return nil, p.fail(start, "a number of %d characters; at most %d are read", p.pos-start, maxNumber)
	}
	n := &Node{Kind: Number, Start: start, End: p.pos, text: p.src[start:p.pos]}
	return n, p.wordEnd()
}

func (p *parser) unsigned() *Error {
	rest := p.src[p.pos:]
	for _, word := range [...]string{"Infinity", "NaN"} {
		if strings.HasPrefix(rest, word) {
			p.pos += len(word)
			return nil
		}
	}
	if len(rest) > 1 && rest[0] == '0' {
		if rest[1] == 'x' || rest[1] == 'X' {
			p.pos += 2
			return p.digits(isHex, "a hexadecimal digit")
		}
		if isDigit(rest[1]) {
			return p.fail(p.pos, "a number may not begin with 0; octal numbers are not allowed")
		}
	}
	before := p.skip(isDigit)
	after := 0
	if p.take('.') {
		after = p.skip(isDigit)
	}
	if before+after == 0 {
		return p.unexpected("a digit")
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		return p.digits(isDigit, "a digit of the exponent")
	}
	return nil
}

func (p *parser) skip(ok func(byte) bool) int {
	start := p.pos
	for p.pos < len(p.src) && ok(p.src[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

func (p *parser) digits(ok func(byte) bool, want string) *Error {
	if p.skip(ok) == 0 {
		return p.unexpected(want)
	}
	return nil
}
