package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of a value, as encoding/json does.
const maxDepth = 1000

// A scanner checks one JSON text and cuts out the members of its top-level
// object without building anything. It accepts what RFC 8259 does, nested at most
// maxDepth deep.
type scanner struct {
	b []byte
	i int
}

// errorf says what was expected at which byte.
func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", s.i+1, fmt.Sprintf(format, args...))
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is not a space, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i >= len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// object calls member for each member of the object that is the whole text.
// key and value are as they stand in the text, quotes and all.
func (s *scanner) object(member func(key, value []byte) error) error {
	if s.peek() != '{' {
		return s.errorf("expected a JSON object")
	}
	if err := s.members(0, member); err != nil {
		return err
	}
	return s.end()
}

func (s *scanner) end() error {
	if s.peek() != 0 || s.i < len(s.b) {
		return s.errorf("text after the object")
	}
	return nil
}

// value checks one value.
func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return s.errorf("nested deeper than %d", maxDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.members(depth, nil)
	case '[':
		return s.elements(depth)
	case '"':
		return s.str()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return s.number()
		}
		return s.errorf("expected a value")
	}
}

// members checks an object; member, when not nil, is called for each of its own.
func (s *scanner) members(depth int, member func(key, value []byte) error) error {
	s.i++
	if s.peek() == '}' {
		s.i++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.errorf("expected a quoted key")
		}
		start := s.i
		if err := s.str(); err != nil {
			return err
		}
		key := s.b[start:s.i]
		if s.peek() != ':' {
			return s.errorf("expected ':' after the key")
		}
		s.i++
		s.space()
		start = s.i
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if member != nil {
			if err := member(key, s.b[start:s.i]); err != nil {
				return err
			}
		}
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			s.i++
			return nil
		default:
			return s.errorf("expected ',' or '}'")
		}
	}
}

func (s *scanner) elements(depth int) error {
	s.i++
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		if err := s.value(depth + 1); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.i++
		case ']':
			s.i++
			return nil
		default:
			return s.errorf("expected ',' or ']'")
		}
	}
}

func (s *scanner) literal(word string) error {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.errorf("expected %s", word)
	}
	s.i += len(word)
	return nil
}

func (s *scanner) number() error {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return s.errorf("expected a digit")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return s.errorf("expected a digit after '.'")
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.errorf("expected a digit in the exponent")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

// str checks a string.
func (s *scanner) str() error {
	s.i++
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return s.errorf("control character %#02x in a string; write it as an escape", c)
		default:
			s.i++
		}
	}
	return s.errorf("the string does not end")
}

func (s *scanner) escape() error {
	if s.i+1 >= len(s.b) {
		return s.errorf("the string does not end")
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return nil
	case 'u':
		for j := s.i + 2; j < s.i+6; j++ {
			if j >= len(s.b) || !isHex(s.b[j]) {
				return s.errorf("expected four hex digits after \\u")
			}
		}
		s.i += 6
		return nil
	}
	return s.errorf("unknown escape \\%c", s.b[s.i+1])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

var errNotString = errors.New("expected a string")

// text reads a checked string value. null reads as "".
func text(value []byte) (string, error) {
	if len(value) < 2 || value[0] != '"' {
		if string(value) == "null" {
			return "", nil
		}
		return "", errNotString
	}
	if body := value[1 : len(value)-1]; bytes.IndexByte(body, '\\') < 0 {
		return string(body), nil
	}
	var out string
	if err := json.Unmarshal(value, &out); err != nil {
		return "", err
	}
	return out, nil
}
