package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// reader walks one file and collects everything that is to be said about it.
type reader struct {
	file     string
	doc      *json5.Document
	errs     []*Error
	more     int
	warnings []Warning
	ignored  []ignoredKey
}

type ignoredKey struct {
	path json5.Path
	pos  Pos
}

func (r *reader) pos(offset int) Pos {
	p := r.doc.Pos(offset)
	return Pos{File: r.file, Line: p.Line, Column: p.Column}
}

// spot is a value together with the path to it.
type spot struct {
	node *json5.Node
	path json5.Path
}

func (s spot) elem(i int) spot { return spot{s.node.Elems[i], s.path.Elem(i)} }

func (s spot) member(m json5.Member) spot { return spot{m.Value, s.path.Child(m.Key)} }

func (r *reader) at(s spot) Pos { return r.pos(s.node.Start) }

func (r *reader) fault(pos Pos, path json5.Path, problem, hint string) {
	if len(r.errs) == maxErrors {
		r.more++
		return
	}
	r.errs = append(r.errs, &Error{Pos: pos, Key: path.String(), Problem: problem, Hint: hint})
}

func (r *reader) warn(pos Pos, path json5.Path, text string) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, Warning{Pos: pos, Key: path.String(), Message: text})
	}
}

func (r *reader) wrong(s spot, want string) {
	found := article(s.node.Kind)
	hint := ""
	if want == "true or false" && (s.node.Str() == "true" || s.node.Str() == "false") {
		hint = "write " + s.node.Str() + " without quotes"
	}
	r.fault(r.at(s), s.path, "expected "+want+", found "+found, hint)
}

func article(k json5.Kind) string {
	switch k {
	case json5.Null:
		return "null"
	case json5.Array, json5.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

func (r *reader) boolean(s spot) (bool, bool) {
	if s.node.Kind != json5.Bool {
		r.wrong(s, "true or false")
		return false, false
	}
	return s.node.Bool(), true
}

func (r *reader) text(s spot) (string, bool) {
	if s.node.Kind != json5.String {
		r.wrong(s, "a string")
		return "", false
	}
	return s.node.Str(), true
}

// oneOf reads a string out of a closed set.
func (r *reader) oneOf(s spot, allowed []string) (string, bool) {
	if s.node.Kind != json5.String {
		r.wrong(s, "one of "+strings.Join(allowed, ", "))
		return "", false
	}
	v := s.node.Str()
	if slices.Contains(allowed, v) {
		return v, true
	}
	hint := ""
	if near := json5.Nearest(v, allowed); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.fault(r.at(s), s.path, fmt.Sprintf("unknown value %s; expected one of %s", clip(v), strings.Join(allowed, ", ")), hint)
	return "", false
}

// clip quotes a short text of the file for an error.
func clip(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return json5.Quote(s, '"')
}

// integer reads a whole number and clamps it to its bounds with a warning.
func (r *reader) integer(s spot, low, high int64) (int64, bool) {
	if s.node.Kind != json5.Number {
		r.wrong(s, "an integer")
		return 0, false
	}
	v, err := s.node.Int64()
	if errors.Is(err, json5.ErrNotInteger) {
		r.fault(r.at(s), s.path, "expected an integer, found a number that is none", "")
		return 0, false
	}
	clamped := min(max(v, low), high)
	if clamped != v {
		lit := s.node.Literal()
		if len(lit) > 24 {
			lit = lit[:24] + "…"
		}
		r.warn(r.at(s), s.path, fmt.Sprintf("%s is out of bounds %d–%d; %d is used", lit, low, high, clamped))
	}
	return clamped, true
}

func (r *reader) object(s spot) bool {
	if s.node.Kind != json5.Object {
		r.wrong(s, "an object")
		return false
	}
	return true
}

func (r *reader) array(s spot) bool {
	if s.node.Kind != json5.Array {
		r.wrong(s, "an array")
		return false
	}
	return true
}

// duplicates reports keys that stand twice in a section of ours.
func (r *reader) duplicates() {
	for _, d := range r.doc.Duplicates {
		if own := d.Path[0].Key; len(d.Path) > 1 && own != "tools" && own != "mcp" && own != "agents" && own != "models" && own != "serve" && own != "telemetry" {
			continue
		}
		r.fault(r.pos(d.Second), d.Path, "the key stands twice, first at "+r.doc.Pos(d.First).String(), "remove one of them")
	}
}

// maxIgnored bounds the keys that the warning about ignored ones lists.
const maxIgnored = 40

// finish returns what was found: the errors in the file's order, or nil.
func (r *reader) finish() error {
	if len(r.ignored) > 0 {
		names := make([]string, 0, maxIgnored)
		for _, k := range r.ignored[:min(len(r.ignored), maxIgnored)] {
			names = append(names, k.path.String())
		}
		more := ""
		if n := len(r.ignored) - len(names); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		r.warnings = append(r.warnings, Warning{Pos: r.ignored[0].pos,
			Message: "ignored, since this program does not use them: " + strings.Join(names, ", ") + more})
	}
	if len(r.errs) == 0 {
		return nil
	}
	sort.SliceStable(r.errs, func(i, j int) bool {
		a, b := r.errs[i], r.errs[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return &Errors{List: r.errs, More: r.more}
}
