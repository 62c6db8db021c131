package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

// Limits bound what a model gets of one result. Zero is not unlimited:
// CheckLimits turns it into the default.
type Limits struct {
	Chars      int // characters of text, as tool.Chars counts them, notes included
	ImageBytes int // bytes of one image
	AudioBytes int // bytes of one recording
	BlobBytes  int // bytes of one embedded resource
}

// The bounds and defaults of Limits, and the bounds that are not settings.
const (
	DefaultChars      = 20_000
	MinChars          = 1_000
	MaxChars          = 1_000_000
	DefaultMediaBytes = 5 << 20
	MaxMediaBytes     = 32 << 20

	maxMediaTotal  = 64 << 20 // bytes, as base64, of a result's images, audio and files
	maxShapeBlocks = 128      // content blocks of one result that are passed on
	noteChars      = 300      // kept free for the note that tells of the cut
	leastBlock     = 100      // characters that a text block gets at least
	maxRawExtra    = 4 << 10
)

// CheckLimits fills in defaults and refuses what is out of bounds.
func CheckLimits(l Limits) (Limits, error) {
	for _, f := range []struct {
		name               string
		value              *int
		least, most, plain int
	}{
		{"characters of a result", &l.Chars, MinChars, MaxChars, DefaultChars},
		{"bytes of an image", &l.ImageBytes, 1, MaxMediaBytes, DefaultMediaBytes},
		{"bytes of audio", &l.AudioBytes, 1, MaxMediaBytes, DefaultMediaBytes},
		{"bytes of a resource", &l.BlobBytes, 1, MaxMediaBytes, DefaultMediaBytes},
	} {
		if *f.value == 0 {
			*f.value = f.plain
		}
		if *f.value < f.least || *f.value > f.most {
			return l, fmt.Errorf("set the limits of results: %d %s are not between %d and %d", *f.value, f.name, f.least, f.most)
		}
	}
	return l, nil
}

// Cut tells what Shape left out.
type Cut struct {
	Full  string // everything there is to read of the result
	Total int    // its characters
	Shown int    // characters of text that are left
	// Next is the position in Full, in bytes, up to which everything is shown; 0
	// where the parts that are shown are no beginning of it.
	Next int
	// Blocks counts the content blocks that were left out whole.
	Blocks int
}

// Shape returns what a model gets of a result: at most limits.Chars characters of
// text in its blocks, and at most as many of details, which are the same answer for
// programs. JSON is cut at elements and members and stays valid, other text is cut
// at the end of a line. Images, audio and embedded files pass as they are when
// their first bytes are what they say and their size is within bounds; in place of
// others stands a text that says why. The limits must come from CheckLimits.
//
// A result that needs nothing of that is returned itself, and res is never
// changed. The Cut is nil unless text was left out; the room for a note of 300
// characters that tells of it has been kept free.
func Shape(res *tool.Result, limits Limits) (*tool.Result, *Cut) {
	if surelyFits(res, limits.Chars) {
		return res, nil
	}
	s := shaping{limits: limits, res: res}
	s.read()
	if !s.changed && s.total <= limits.Chars && chars(res.Details) <= limits.Chars {
		return res, nil
	}
	out := *res
	cut := s.fit(&out)
	if err := slimRaw(&out); err != nil {
		out.Raw = nil // the fields say it all
	}
	return &out, cut
}

// surelyFits reports results of text alone whose bytes are within the budget:
// no text has more characters than its JSON has bytes.
func surelyFits(res *tool.Result, most int) bool {
	size := 0
	for _, c := range res.Content {
		if size += len(c.Raw); c.Type != tool.TypeText || size > most {
			return false
		}
	}
	return len(res.Details) <= most && len(res.Content) <= maxShapeBlocks
}

// shaping is the work on one result.
type shaping struct {
	limits  Limits
	res     *tool.Result
	parts   []part
	total   int  // characters of all parts
	changed bool // bytes were replaced, or blocks left out
	missing int  // blocks beyond maxShapeBlocks
	media   int  // bytes of images, audio and files so far
}

// part is one block of the result.
type part struct {
	block tool.Content
	text  string // what counts; "" for bytes
	width int
	inner bool // text is that of an embedded resource
}

// read measures the blocks and looks into their bytes.
func (s *shaping) read() {
	for i, c := range s.res.Content {
		if i == maxShapeBlocks {
			s.missing = len(s.res.Content) - i
			s.changed = true
			break
		}
		p := part{block: c}
		switch {
		case c.Type == tool.TypeText:
			p.text = c.Text()
			if hidesText(c, p.text) {
				p.block, s.changed = tool.Text(p.text), true
			}
		case c.Type == tool.TypeImage, c.Type == tool.TypeAudio, c.Type == tool.TypeResource && !isTextResource(c):
			why := s.problem(c)
			if why != "" {
				p.text = fmt.Sprintf("[%s left out: %s]", article(c.Type), why)
				p.block, s.changed = tool.Text(p.text), true
			}
		case c.Type == tool.TypeResource:
			p.text, p.inner = resourceText(c), true
			p.width = max(0, chars(c.Raw)-tool.Chars(p.text)) // the address and the like, and escapes
		default:
			p.text = string(c.Raw)
		}
		p.width += tool.Chars(p.text)
		s.total += p.width
		s.parts = append(s.parts, p)
	}
}

// hidesText reports a text block with much besides its text, or with members that
// readers take for different texts: not all of what it holds was counted.
func hidesText(c tool.Content, text string) bool {
	if len(c.Raw)-len(text) <= leastBlock { // nearly every block
		return false
	}
	o, err := tool.ReadObject(c.Raw)
	return err != nil || foldedTwice(o) || len(c.Raw)-len(o.Get("text")) > maxMediaExtra
}

// problem says why a block of bytes must not be passed on.
func (s *shaping) problem(c tool.Content) string {
	if s.media += len(c.Raw); s.media > maxMediaTotal {
		return "the result holds more bytes than are passed on"
	}
	return mediaProblem(c, &s.limits)
}

func article(typ string) string {
	switch typ {
	case tool.TypeImage:
		return "an image was"
	case tool.TypeAudio:
		return "audio was"
	}
	return "a file was"
}

// fit cuts the blocks and the details to their budgets.
func (s *shaping) fit(out *tool.Result) *Cut {
	room := s.limits.Chars
	detailsCut := chars(s.res.Details) > room
	if detailsCut {
		if out.Details = nil; json.Valid(s.res.Details) {
			out.Details = cutJSON(s.res.Details, room)
		}
	}
	var cut *Cut
	if detailsCut || s.total > room || s.missing > 0 {
		room -= noteChars
		cut = &Cut{Blocks: s.missing}
	}
	textCut := s.total > room || s.missing > 0
	s.fill(out, room, cut)
	if cut == nil {
		return nil
	}
	cut.Full = s.full()
	switch {
	case detailsCut && !textCut:
		cut.Full, cut.Shown, cut.Next = string(s.res.Details), chars(out.Details), 0
	case detailsCut && !json.Valid([]byte(cut.Full)): // else the text is the details once more
		cut.Full += "\n" + string(s.res.Details)
	}
	cut.Total = tool.Chars(cut.Full)
	return cut
}

// full joins all texts.
func (s *shaping) full() string {
	var b strings.Builder
	for i, c := range s.res.Content {
		var text string
		switch {
		case i < len(s.parts):
			text = s.parts[i].text
		case c.Type == tool.TypeText:
			text = c.Text()
		}
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return b.String()
}

// fill puts the blocks into the room, the longest ones cut.
func (s *shaping) fill(out *tool.Result, room int, cut *Cut) {
	var widths []int
	kept, least := s.parts, 0
	for i, p := range s.parts {
		if least += min(p.width, leastBlock); least > room {
			kept = s.parts[:i]
			break
		}
		widths = append(widths, p.width)
	}
	level := share(widths, room)
	out.Content = make([]tool.Content, 0, len(kept))
	whole := true // everything so far is shown
	for i, p := range kept {
		most := min(widths[i], level)
		block, text, end := p.shorten(most)
		out.Content = append(out.Content, block)
		if cut == nil {
			continue
		}
		cut.Shown += tool.Chars(text)
		if whole {
			if i > 0 && p.text != "" && cut.Next > 0 {
				cut.Next++ // the line break between two blocks
			}
			cut.Next += end
		}
		whole = whole && end == len(p.text)
	}
	if cut != nil {
		cut.Blocks += len(s.parts) - len(kept)
	}
}

// shorten returns the block with at most max characters, the text that it shows,
// and how many bytes of the part's text these are the beginning of.
func (p part) shorten(max int) (tool.Content, string, int) {
	if p.width <= max {
		return p.block, p.text, len(p.text)
	}
	switch {
	case p.inner:
		return p.shortenResource(max)
	case p.block.Type != tool.TypeText:
		note := fmt.Sprintf("[a block of type %q with %d characters was left out]", tool.Clean(p.block.Type, 16), p.width)
		return tool.Text(note), note, 0
	}
	text, end := cutText(p.text, max)
	return withText(p.block, text), text, end
}

// withText puts another text into a text block and keeps its other members,
// unless they are large themselves.
func withText(c tool.Content, text string) tool.Content {
	plain := tool.Text(text)
	o, err := tool.ReadObject(c.Raw)
	if err != nil || foldedTwice(o) || o.Get("text") == nil || len(c.Raw)-len(o.Get("text")) > maxMediaExtra {
		return plain
	}
	quoted, err := tool.Encode(text)
	if err != nil {
		return plain
	}
	raw, err := o.Set("text", quoted).MarshalJSON()
	if err != nil {
		return plain
	}
	return tool.Content{Type: tool.TypeText, Raw: raw}
}

// cutText keeps the beginning of a text, with a mark that says how much is
// missing, and returns how many bytes are kept as they were: 0 for JSON, which is
// cut everywhere.
func cutText(text string, max int) (string, int) {
	if trimmed := []byte(strings.TrimSpace(text)); isDocument(trimmed) {
		return string(cutJSON(trimmed, max)), 0
	}
	total := tool.Chars(text)
	room := max - 1 - tool.Chars(textMark(total))
	end := lineEnd(text, prefix(text, room))
	kept := text[:end]
	mark := textMark(total - tool.Chars(kept))
	if !strings.HasSuffix(kept, "\n") {
		mark = "\n" + mark
	}
	return kept + mark, end
}

func textMark(left int) string { return fmt.Sprintf("… (%d more characters)", left) }

// prefix returns the bytes of the longest beginning with at most max characters.
func prefix(s string, max int) int {
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > max {
			return i
		}
	}
	return len(s)
}

// lineEnd moves a cut back to the end of a line, or else of a word, if that
// costs less than half.
func lineEnd(s string, end int) int {
	if end >= len(s) || end <= 0 {
		return max(0, min(end, len(s)))
	}
	for _, sep := range []string{"\n", " "} {
		if i := strings.LastIndex(s[:end], sep); i+1 > end/2 {
			return i + 1
		}
	}
	return end
}

// isTextResource reports an embedded resource that is text.
func isTextResource(c tool.Content) bool {
	o, err := tool.ReadObject(c.Raw)
	if err != nil {
		return false
	}
	inner, err := tool.ReadObject(o.Get("resource"))
	return err == nil && inner.Get("blob") == nil && len(inner.Get("text")) > 0 && !foldedTwice(inner)
}

func resourceText(c tool.Content) string {
	o, _ := tool.ReadObject(c.Raw) // isTextResource has read both
	inner, _ := tool.ReadObject(o.Get("resource"))
	var text string
	if json.Unmarshal(inner.Get("text"), &text) != nil {
		return ""
	}
	return text
}

// shortenResource cuts the text of an embedded resource, or leaves the resource
// out where the rest of it takes the room.
func (p part) shortenResource(most int) (tool.Content, string, int) {
	around := p.width - tool.Chars(p.text)
	note := fmt.Sprintf("[a resource with %d characters was left out]", p.width)
	if most-around < leastBlock {
		return tool.Text(note), note, 0
	}
	text, end := cutText(p.text, most-around)
	quoted, err := tool.Encode(text)
	if err != nil {
		return tool.Text(note), note, 0
	}
	o, _ := tool.ReadObject(p.block.Raw)
	inner, _ := tool.ReadObject(o.Get("resource"))
	raw, err := inner.Set("text", quoted).MarshalJSON()
	if err == nil {
		raw, err = o.Set("resource", raw).MarshalJSON()
	}
	if err != nil || chars(raw) > most {
		return tool.Text(note), note, 0
	}
	return tool.Content{Type: tool.TypeResource, Raw: raw}, text, end
}

// slimRaw brings the raw form in line, without large members that nobody knows.
func slimRaw(res *tool.Result) error {
	if res.Raw == nil {
		return nil
	}
	members, err := tool.ReadObject(res.Raw)
	if err != nil {
		return err
	}
	kept := make(tool.Object, 0, len(members))
	for _, m := range members {
		if isResultField(m.Name) || len(m.Value) <= maxRawExtra {
			kept = append(kept, m)
		}
	}
	if res.Raw, err = kept.MarshalJSON(); err != nil {
		return err
	}
	return rewriteRaw(res)
}

// validOffset moves a position in s back to the beginning of a character.
func validOffset(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
