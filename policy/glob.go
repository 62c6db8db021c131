package policy

import (
	"bytes"
	"strings"
)

// glob is a compiled pattern in which '*' stands for any text, also none. Every
// other character stands for itself. The zero value matches only "".
type glob struct {
	head string   // text before the first '*'; the whole text when star is false
	mids [][]byte // texts between two '*', none of them empty
	tail string   // text after the last '*'
	star bool
}

// anyGlob matches every text.
func anyGlob() glob { return glob{star: true} }

// compileGlob compiles a folded pattern.
func compileGlob(pattern string) glob {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return glob{head: pattern}
	}
	g := glob{head: parts[0], tail: parts[len(parts)-1], star: true}
	for _, mid := range parts[1 : len(parts)-1] {
		if mid != "" {
			g.mids = append(g.mids, []byte(mid))
		}
	}
	return g
}

// match reports whether g matches all of b. Taking each middle text at its
// first place is enough, since '*' is the only wildcard; so the time is bounded
// by the lengths and there is no backtracking.
func (g *glob) match(b []byte) bool {
	if !g.star {
		return string(b) == g.head
	}
	if len(b) < len(g.head)+len(g.tail) ||
		string(b[:len(g.head)]) != g.head ||
		string(b[len(b)-len(g.tail):]) != g.tail {
		return false
	}
	b = b[len(g.head) : len(b)-len(g.tail)]
	for _, mid := range g.mids {
		at := bytes.Index(b, mid)
		if at < 0 {
			return false
		}
		b = b[at+len(mid):]
	}
	return true
}
