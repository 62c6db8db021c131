package core

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

const (
	maxGlob       = 256 // bytes of a glob
	maxGlobBraces = 16  // brace groups in it
)

// glob chooses files by name. It knows * and ? inside one name, ** across
// folders, [abc] and [!abc], and {this,that}. A glob without a slash is
// compared with the last name of a path, any other with the whole path below
// the folder that is looked at. Matching takes time linear in the path's length.
type glob struct {
	re   *regexp.Regexp
	base bool // compare with the last name only
}

// newGlob compiles a glob. An empty one is nil, which matches everything.
func newGlob(pattern string) (*glob, error) {
	if pattern == "" {
		return nil, nil
	}
	const next = "Use a glob such as *.go, src/**/*.ts or *.{js,jsx}"
	if len(pattern) > maxGlob || strings.Count(pattern, "{") > maxGlobBraces {
		return nil, invalid(next, "the glob is longer than %d bytes or has more than %d groups", maxGlob, maxGlobBraces)
	}
	expr, err := globExpr(strings.TrimPrefix(pattern, "./"))
	if err != nil {
		return nil, invalid(next, "the glob %q is wrong: %v", shown(pattern), err)
	}
	re, err := regexp.Compile(`(?s)\A(?:` + expr + `)\z`)
	if err != nil {
		return nil, invalid(next, "the glob %q is wrong", shown(pattern))
	}
	return &glob{re: re, base: !strings.Contains(strings.TrimPrefix(pattern, "./"), "/")}, nil
}

// match reports whether the slash-separated path is chosen.
func (g *glob) match(p string) bool {
	if g == nil {
		return true
	}
	if g.base {
		p = path.Base(p)
	}
	return g.re.MatchString(p)
}

// globExpr translates a glob into a regular expression.
func globExpr(p string) (string, error) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(p); {
		rest := p[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || p[i-1] == '/'):
			b.WriteString(`(?:[^/]*/)*`)
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i += 2
		case p[i] == '*':
			b.WriteString(`[^/]*`)
			i++
		case p[i] == '?':
			b.WriteString(`[^/]`)
			i++
		case p[i] == '{':
			b.WriteString(`(?:`)
			depth++
			i++
		case p[i] == ',' && depth > 0:
			b.WriteByte('|')
			i++
		case p[i] == '}' && depth > 0:
			b.WriteByte(')')
			depth--
			i++
		case p[i] == '[':
			n, class, err := globClass(rest)
			if err != nil {
				return "", err
			}
			b.WriteString(class)
			i += n
		case p[i] == '\\' && i+1 < len(p):
			b.WriteString(regexp.QuoteMeta(p[i+1 : i+2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
			i++
		}
	}
	if depth > 0 {
		return "", fmt.Errorf("a { has no }")
	}
	return b.String(), nil
}

// globClass translates a class such as [a-z], and says how long it is. A class
// never matches a slash.
func globClass(p string) (n int, class string, err error) {
	body := 1
	negated := len(p) > 1 && (p[1] == '!' || p[1] == '^')
	if negated {
		body = 2
	}
	if body >= len(p) {
		return 0, "", fmt.Errorf("a [ has no ]")
	}
	end := strings.IndexByte(p[body+1:], ']') // a ] right at the start stands for itself
	if end < 0 {
		return 0, "", fmt.Errorf("a [ has no ]")
	}
	end += body + 1
	inner := p[body:end]
	if strings.Contains(inner, "/") {
		return 0, "", fmt.Errorf("a class holds a slash")
	}
	escaped := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(inner)
	if negated {
		return end + 1, `[^/` + escaped + `]`, nil
	}
	return end + 1, `[` + escaped + `]`, nil
}
