package config

import (
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// field is one key of a section that is read into a T. Type, Default, Bounds
// and Doc are for the reference; Bounds and Default may be empty.
type field[T any] struct {
	row
	read func(r *reader, s spot, into *T)
}

// row is what the reference says of a key.
type row struct {
	Key, Type, Default, Bounds, Doc string
	Shown                           string // the key as the reference shows it, if it is another
}

// stance is what happens to keys that a section does not list.
type stance int

const (
	strict  stance = iota // they are faults
	lenient               // they are ignored with the one warning, if they do not look like typing errors
	quiet                 // like lenient, without the warning
)

// section is a record of the file.
type section[T any] struct {
	path   string // for the reference, such as mcp.servers.<name>
	intro  string // for the reference
	fields []field[T]
	stance stance
	// foreign are keys of other programs, known not to be misspellings.
	foreign []string
	// moved has a hint for keys that people put here by mistake.
	moved map[string]string
	// misplaced has a hint for a member, foreign or not, that is ours by what it
	// holds: a rule that is ignored would be taken for one that holds.
	misplaced func(m json5.Member) string
}

func (sec *section[T]) names() []string {
	names := make([]string, len(sec.fields))
	for i, f := range sec.fields {
		names[i] = f.Key
	}
	return names
}

// read fills into from an object.
func (sec *section[T]) read(r *reader, s spot, into *T) {
	if !r.object(s) {
		return
	}
	fields := make(map[string]*field[T], len(sec.fields))
	for i := range sec.fields {
		fields[sec.fields[i].Key] = &sec.fields[i]
	}
	for _, m := range s.node.Members {
		if s.node.Member(m.Key) != m.Value {
			continue // repeated, and reported as such
		}
		if f := fields[m.Key]; f != nil {
			f.read(r, s.member(m), into)
			continue
		}
		sec.other(r, s, m)
	}
}

// other deals with a key that the section does not list.
func (sec *section[T]) other(r *reader, s spot, m json5.Member) {
	path, pos := s.path.Child(m.Key), r.pos(m.KeyStart)
	if sec.misplaced != nil {
		if hint := sec.misplaced(m); hint != "" {
			r.fault(pos, path, "it does not stand here", hint)
			return
		}
	}
	known := false
	for _, f := range sec.foreign {
		known = known || f == m.Key
	}
	if !known {
		near := json5.Nearest(m.Key, sec.names())
		switch hint := sec.moved[m.Key]; {
		case hint != "":
			r.fault(pos, path, "unknown key", hint)
			return
		case near != "":
			r.fault(pos, path, "unknown key", "did you mean "+near+"?")
			return
		case sec.stance == strict:
			r.fault(pos, path, "unknown key", "known here: "+strings.Join(sec.names(), ", "))
			return
		}
	}
	if sec.stance != quiet {
		r.ignored = append(r.ignored, ignoredKey{path, pos})
	}
}

// part is a field that holds a section of its own.
func part[T, U any](r row, sec section[U], of func(*T) *U) field[T] {
	if r.Type == "" {
		r.Type = "object"
	}
	return field[T]{r, func(rd *reader, s spot, into *T) { sec.read(rd, s, of(into)) }}
}

// number is an integer field with bounds.
func number[T any](r row, low, high int64, set func(*T, int64, Pos)) field[T] {
	r.Type, r.Bounds = "integer", fmt.Sprintf("%d–%d", low, high)
	return field[T]{r, func(rd *reader, s spot, into *T) {
		if v, ok := rd.integer(s, low, high); ok {
			set(into, v, rd.at(s))
		}
	}}
}

// flag is a boolean field.
func flag[T any](r row, set func(*T, bool)) field[T] {
	r.Type = "boolean"
	return field[T]{r, func(rd *reader, s spot, into *T) {
		if v, ok := rd.boolean(s); ok {
			set(into, v)
		}
	}}
}

// choice is a string field out of a closed set.
func choice[T any](r row, allowed []string, set func(*T, string, Pos)) field[T] {
	r.Type, r.Bounds = "string", "`"+strings.Join(allowed, "`, `")+"`"
	return field[T]{r, func(rd *reader, s spot, into *T) {
		if v, ok := rd.oneOf(s, allowed); ok {
			set(into, v, rd.at(s))
		}
	}}
}
