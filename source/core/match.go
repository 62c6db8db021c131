package core

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
)

const (
	maxPattern = 1000      // bytes of a pattern
	maxProgram = 4000      // instructions that it may compile to
	window     = 128 * kib // of a very long line, searched at once
	overlap    = 2 * kib   // of two such windows
)

// matcher finds the lines that a pattern matches.
//
// Most patterns hold a text that every match must contain ("func " in
// `func \w+Error`). Looking for that text in a whole file runs at the speed of
// memory, and only the lines that hold it are given to the regular expression.
// Without such a text every line is.
type matcher struct {
	re    *regexp.Regexp
	need  []byte  // every match holds it; empty when none is known
	fold  *folded // the same for patterns that ignore case; nil when none is known
	exact bool    // the pattern is need and nothing else
	never bool    // the pattern wants a line feed, which no line holds
}

func newMatcher(pattern string, literal, ignoreCase bool) (*matcher, error) {
	const next = "Use RE2 syntax, or set literal for plain text"
	if pattern == "" || len(pattern) > maxPattern {
		return nil, invalid(next, "the pattern has %d bytes; it must have from 1 to %d", len(pattern), maxPattern)
	}
	if literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, invalid(next, "the pattern is not a regular expression: %v", err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil, invalid("Use a simpler pattern, with smaller repetitions", "the pattern is too complex")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalid(next, "the pattern is not a regular expression: %v", err)
	}
	tree, err = syntax.Parse(pattern, syntax.Perl) // Simplify may have changed the first one
	if err != nil {
		return nil, invalid(next, "the pattern is not a regular expression: %v", err)
	}
	m := &matcher{re: re, need: []byte(required(tree))}
	if len(m.need) == 0 {
		m.fold = newFolded(requiredFolded(tree))
	}
	m.exact = tree.Op == syntax.OpLiteral && len(m.need) > 0
	m.never = bytes.IndexByte(m.need, '\n') >= 0
	return m, nil
}

// required returns the longest text that every match must hold, "" if none is
// known. Letters that may have either case are in none.
func required(re *syntax.Regexp) string {
	return longest(re, func(lit *syntax.Regexp) string {
		if lit.Flags&syntax.FoldCase != 0 {
			return ""
		}
		return string(lit.Rune)
	})
}

// longest returns the longest of the texts, as given by text, that stand in
// every match of the expression.
func longest(re *syntax.Regexp, text func(*syntax.Regexp) string) string {
	switch re.Op {
	case syntax.OpLiteral:
		return text(re)
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0], text)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return longest(re.Sub[0], text)
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if t := longest(sub, text); len(t) > len(best) {
				best = t
			}
		}
		return best
	}
	return ""
}

// span is a line: the bytes from start to end, without its line ending, and
// the matched part inside it.
type span struct {
	start, end int
	from, to   int
}

// each calls found for every matching line of text, in order, until it returns
// false or ctx ends.
func (m *matcher) each(ctx context.Context, text []byte, found func(span) bool) {
	if m.never {
		return
	}
	var folds *finder
	if m.fold != nil {
		folds = m.fold.in(text)
	}
	for pos, n := 0, 0; pos < len(text); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return
		}
		hit := pos
		switch {
		case folds != nil:
			hit = folds.from(pos)
		case len(m.need) > 0:
			if hit = bytes.Index(text[pos:], m.need); hit >= 0 {
				hit += pos
			}
		}
		if hit < 0 {
			return
		}
		l := span{start: pos + bytes.LastIndexByte(text[pos:hit], '\n') + 1}
		next := len(text)
		if i := bytes.IndexByte(text[hit:], '\n'); i >= 0 {
			next = hit + i + 1
		}
		l.end = next
		if text[l.end-1] == '\n' {
			l.end--
		}
		if l.end > l.start && text[l.end-1] == '\r' {
			l.end--
		}
		if m.matches(ctx, text, &l, hit) && !found(l) {
			return
		}
		pos = next
	}
}

// matches runs the expression on one line. A line longer than the window is
// searched window by window, so that it cannot keep a cancelled call busy; there
// an anchor may also match at the edge of a window.
func (m *matcher) matches(ctx context.Context, text []byte, l *span, hit int) bool {
	if m.exact {
		l.from, l.to = hit, hit+len(m.need)
		return true
	}
	for from := l.start; ctx.Err() == nil; from += window - overlap {
		to := min(l.end, from+window)
		if loc := m.re.FindIndex(text[from:to]); loc != nil {
			l.from, l.to = from+loc[0], from+loc[1]
			return true
		}
		if to == l.end {
			break
		}
	}
	return false
}
