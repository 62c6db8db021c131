package transcript

// str reads a string token at pos, and reports whether it has escapes or bytes
// that decoding may change, and whether it is valid.
func (s *scanner) str() (escaped, ok bool) {
	if s.pos >= len(s.in) || s.in[s.pos] != '"' {
		return false, false
	}
	for i := s.pos + 1; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, true
		case c < 0x20:
			return false, false
		case c == '\\':
			escaped = true
			i++
			if i >= len(s.in) {
				return false, false
			}
			switch s.in[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(s.in) || !hexDigit(s.in[i]) {
						return false, false
					}
				}
			default:
				return false, false
			}
		}
	}
	return false, false
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) literal(word string) bool {
	if len(s.in)-s.pos < len(word) || s.in[s.pos:s.pos+len(word)] != word {
		return false
	}
	s.pos += len(word)
	return true
}

// number reads a number as RFC 8259 spells it. One that holds a known secret is
// replaced by a string.
func (s *scanner) number() bool {
	from := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch {
	case s.peek() == '0':
		s.pos++
	case !s.digits():
		return false
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return false
		}
	}
	if text := s.in[from:s.pos]; s.r.secrets != nil && len(text) >= s.r.shortest {
		if clean := s.r.known(text); clean != text {
			s.note(from, s.pos, clean)
		}
	}
	return true
}

// peek returns the byte at pos, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

// digits consumes one digit or more.
func (s *scanner) digits() bool {
	from := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > from
}
