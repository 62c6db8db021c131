package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// MinSecret is the length in bytes of the shortest value that is looked for in
// text: shorter ones would be found everywhere.
const MinSecret = 4

const (
	maxDepth = 512 // of nested JSON values; what is deeper is not recorded
	maxNest  = 4   // of JSON inside strings of JSON
)

// RedactorConfig says what is secret beside the built-in names.
type RedactorConfig struct {
	// Fields are further names of members whose values are secret, at any
	// depth. Case and the separators _ - . and space do not matter.
	Fields []string
	// Secrets are values, such as resolved environment variables, that are
	// taken out wherever they stand, in the forms of tool.SecretForms. Those
	// shorter than MinSecret are not looked for.
	Secrets []string
}

// Redactor takes secrets out of JSON and text. It is immutable and safe for
// concurrent use.
//
// Three things are taken out: the values of members with a secret's name, at
// any depth and also in JSON that stands inside a string; in text, what follows
// such a name ("password=…", "Authorization: Bearer …", "--token …"), passwords
// in URLs and private keys; and the known secret values, wherever they stand.
type Redactor struct {
	fields  map[string]struct{}
	secrets *strings.Replacer // nil for none
	// shortest is the length of the shortest form in secrets.
	shortest int
}

// NewRedactor makes a Redactor.
func NewRedactor(c RedactorConfig) *Redactor {
	r := &Redactor{fields: map[string]struct{}{}}
	for _, f := range c.Fields {
		if folded := string(foldName(nil, f)); folded != "" {
			r.fields[folded] = struct{}{}
		}
	}
	secrets := slices.DeleteFunc(slices.Clone(c.Secrets), func(s string) bool { return len(s) < MinSecret })
	forms := tool.SecretForms(secrets...)
	if len(forms) == 0 {
		return r
	}
	r.shortest = len(forms[len(forms)-1])
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, Redacted)
	}
	r.secrets = strings.NewReplacer(pairs...)
	return r
}

// JSON returns raw with the secrets taken out and every other byte as it was.
// It returns raw itself when there is nothing to take out. What is not valid
// JSON is not shown at all: the answer is a JSON string that says so.
func (r *Redactor) JSON(raw []byte) []byte {
	text := string(raw) // so that looking at its parts copies nothing
	out, ok := r.json(text, maxNest)
	switch {
	case !ok:
		return []byte(`"[not readable as JSON, left out]"`)
	case out == text:
		return raw
	}
	return []byte(out)
}

func (r *Redactor) json(text string, nest int) (string, bool) {
	s := scanner{r: r, in: text, nest: nest}
	if s.space(); !s.value(0) {
		return "", false
	}
	if s.space(); s.pos != len(text) {
		return "", false
	}
	return s.apply(), true
}

// known takes the known secrets out of text.
func (r *Redactor) known(text string) string {
	if r.secrets == nil || len(text) < r.shortest {
		return text
	}
	return r.secrets.Replace(text)
}

// Text returns text with the secrets taken out.
func (r *Redactor) Text(text string) string { return r.text(text, maxNest) }

func (r *Redactor) text(text string, nest int) string {
	text = r.known(text)
	if nest > 0 && looksLikeJSON(text) {
		if out, ok := r.json(text, nest-1); ok {
			return out
		}
	}
	return r.phrases(text)
}

// looksLikeJSON is a cheap test for an object or array.
func looksLikeJSON(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	return len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[')
}

// edit replaces in[from:to].
type edit struct {
	from, to int
	text     string
}

// scanner reads one JSON text, checks that it is valid, and notes what to
// replace.
type scanner struct {
	r     *Redactor
	in    string
	pos   int
	nest  int
	edits []edit
}

// apply makes the noted edits. One inside another is dropped.
func (s *scanner) apply() string {
	if len(s.edits) == 0 {
		return s.in
	}
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	var out strings.Builder
	out.Grow(len(s.in) + 16*len(s.edits))
	last := 0
	for _, e := range s.edits {
		if e.from < last {
			continue
		}
		out.WriteString(s.in[last:e.from])
		out.WriteString(e.text)
		last = e.to
	}
	out.WriteString(s.in[last:])
	return out.String()
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// take consumes c after white space.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.in) && s.in[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// value reads one value. It reports whether it is valid JSON.
func (s *scanner) value(depth int) bool {
	if s.pos >= len(s.in) || depth > maxDepth {
		return false
	}
	switch c := s.in[s.pos]; c {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		from := s.pos
		escaped, ok := s.str()
		if ok {
			s.redactString(from, escaped)
		}
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) array(depth int) bool {
	s.pos++
	if s.take(']') {
		return true
	}
	for {
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// pair watches an object for a header written as {"name": …, "value": …}.
type pair struct {
	secret   bool // the name is a secret's
	from, to int  // of the value; to is 0 for none
}

func (s *scanner) object(depth int) bool {
	s.pos++
	if s.take('}') {
		return true
	}
	var p pair
	for {
		if !s.member(depth, &p) {
			return false
		}
		if s.take('}') {
			break
		}
		if !s.take(',') {
			return false
		}
	}
	if p.secret && p.to > 0 {
		s.hide(p.from, p.to)
	}
	return true
}

func (s *scanner) member(depth int, p *pair) bool {
	s.space()
	from := s.pos
	escaped, ok := s.str()
	if !ok {
		return false
	}
	name := s.unquote(from, s.pos, escaped)
	if clean := s.r.known(name); clean != name {
		s.note(from, s.pos, clean)
	}
	if !s.take(':') {
		return false
	}
	s.space()
	from = s.pos
	if !s.value(depth + 1) {
		return false
	}
	if s.r.secretName(name) {
		s.hide(from, s.pos)
		return true
	}
	switch {
	case name == "value":
		p.from, p.to = from, s.pos
	case (name == "name" || name == "key" || name == "header") && s.in[from] == '"':
		p.secret = p.secret || s.r.secretName(s.unquote(from, s.pos, true))
	}
	return true
}

// hide replaces a value, unless it tells nothing.
func (s *scanner) hide(from, to int) {
	switch s.in[from] {
	case 't', 'f', 'n':
		return
	case '"':
		if to-from == 2 {
			return
		}
	}
	s.edits = append(s.edits, edit{from, to, `"` + Redacted + `"`})
}

// note replaces a string by text.
func (s *scanner) note(from, to int, text string) {
	raw, err := tool.Encode(text)
	if err != nil { // a string always marshals
		raw = []byte(`"` + Redacted + `"`)
	}
	s.edits = append(s.edits, edit{from, to, string(raw)})
}

// redactString looks into the string that ends at pos.
func (s *scanner) redactString(from int, escaped bool) {
	if s.pos-from-2 < MinSecret {
		return
	}
	text := s.unquote(from, s.pos, escaped)
	if clean := s.r.text(text, s.nest); clean != text {
		s.note(from, s.pos, clean)
	}
}

// unquote returns the text of the string in[from:to].
func (s *scanner) unquote(from, to int, escaped bool) string {
	if !escaped {
		return s.in[from+1 : to-1]
	}
	var text string
	if json.Unmarshal([]byte(s.in[from:to]), &text) != nil { // it was scanned as valid
		return ""
	}
	return text
}
