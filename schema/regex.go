package schema

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of patterns. All backtracking matches of one pass share patternBudget,
// and one is cut off when it takes as long alone (the library's clock ticks every
// 100 ms, so up to two ticks later). It is time on the wall, of which a busy
// machine may take much from a match that needs little.
const (
	maxPatternBytes = 4096
	maxPatterns     = 256 // different ones in one schema
	patternBudget   = time.Second
	maxEarly        = 16 // matches of one value that were cut off before their time
)

// matcher is a compiled pattern. Most patterns mean the same in RE2, which
// matches in linear time; only the rest (look-around, back references, \s)
// need the backtracking engine.
type matcher struct {
	source string
	linear *regexp.Regexp
	back   *regexp2.Regexp
	meter  *meter
}

// engine returns the compiler of one schema's patterns, whose matches are
// charged to m. The schema compiler asks for each pattern more than once.
func engine(m *meter) jsonschema.RegexpEngine {
	known := map[string]*matcher{}
	return func(source string) (jsonschema.Regexp, error) {
		if p, ok := known[source]; ok {
			return p.copy(), nil
		}
		if len(known) >= maxPatterns {
			return nil, fmt.Errorf("more than %d patterns in one schema", maxPatterns)
		}
		p, err := compilePattern(source, m)
		if err != nil {
			return nil, err
		}
		known[source] = p
		return p.copy(), nil
	}
}

// copy gives each use of a pattern its own address: the validator keeps
// patterns as keys of a map.
func (p *matcher) copy() *matcher {
	c := *p
	return &c
}

func compilePattern(source string, m *meter) (*matcher, error) {
	if len(source) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are compiled", len(source), maxPatternBytes)
	}
	if same, ok := toRE2(source); ok {
		if re, err := regexp.Compile(same); err == nil {
			return &matcher{source: source, linear: re, meter: m}, nil
		}
	}
	re, err := regexp2.Compile(source, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("compile the pattern: %w", err)
	}
	re.MatchTimeout = patternBudget
	return &matcher{source: source, back: re, meter: m}, nil
}

// String returns the pattern as the schema has it.
func (p *matcher) String() string { return p.source }

// MatchString reports a match. What cannot be decided within the budget ends
// the whole validation: answering either way could let a value through, since
// the pattern may stand under "not".
func (p *matcher) MatchString(s string) bool {
	p.meter.spend(1 + len(s)*len(p.source)/256)
	if p.linear != nil {
		return p.linear.MatchString(s)
	}
	ok, decided := p.meter.timed(func() (bool, error) { return p.back.MatchString(s) })
	if !decided {
		panic(&undecided{"pattern", fmt.Sprintf("matching the pattern %s takes too long on this value, so it counts as broken; send a shorter or simpler value", clip(quote(p.source), 120))})
	}
	return ok
}

// toRE2 translates an ECMAScript pattern to RE2's syntax. It reports false
// when the pattern has anything whose meaning differs or that it does not know.
func toRE2(p string) (string, bool) {
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c == '\\':
			n := sameEscape(p[i+1:], class)
			if n == 0 {
				return "", false
			}
			b.WriteString(p[i : i+1+n])
			i += n
		case class:
			if c == '[' {
				b.WriteByte('\\') // RE2 would read [: as the start of a named class
			}
			class = c != ']'
			b.WriteByte(c)
		case c == '.':
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`) // ECMA-262's line terminators
		case c == '[':
			rest := strings.TrimPrefix(p[i+1:], "^")
			if strings.HasPrefix(rest, "]") {
				return "", false // [] and [^] mean nothing and anything there
			}
			class = true
			b.WriteString(p[i : len(p)-len(rest)])
			i = len(p) - len(rest) - 1
		case c == '(' && strings.HasPrefix(p[i+1:], "?") && !strings.HasPrefix(p[i+1:], "?:"):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), !class
}

// sameEscape returns the length of the escape at the start of s (without its
// backslash) if it means the same in both syntaxes, else 0.
func sameEscape(s string, class bool) int {
	if s == "" {
		return 0
	}
	c := s[0]
	switch {
	case strings.IndexByte("dDwWnrtfv", c) >= 0:
		return 1
	case c == 'b' || c == 'B':
		if class {
			return 0 // a backspace there
		}
		return 1
	case c == 'x' && len(s) >= 3 && isHex(s[1]) && isHex(s[2]):
		return 3
	case c < 0x80 && c > ' ' && c != '_' && !isAlnum(c):
		return 1
	}
	return 0
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
