package core

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

type editArgs struct {
	Path       string  `json:"path"`
	OldText    string  `json:"oldText"`
	NewText    *string `json:"newText"`
	ReplaceAll bool    `json:"replaceAll"`
}

func (s *Source) edit(ctx context.Context, a editArgs) (*tool.Result, error) {
	switch {
	case a.OldText == "":
		return nil, invalid("Give the text to replace, or use write for a whole file", "oldText is empty")
	case a.NewText == nil:
		return nil, invalid("To delete text, give \"\"", "newText is missing")
	case a.OldText == *a.NewText:
		return nil, invalid("Give the text as it should become", "oldText and newText are the same")
	}
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	unlock, err := s.lockWrites(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, err := s.openTarget(name, false)
	if err != nil {
		return nil, s.pathError("edit", a.Path, err)
	}
	defer t.close()
	text, err := t.load(ctx, s.limits.EditBytes)
	if err != nil {
		return nil, s.pathError("edit", a.Path, err)
	}
	change, err := replaceText(text, a)
	if err != nil {
		return nil, err
	}
	if len(change.text) > s.limits.EditBytes {
		return nil, refuse("Replace less at once", "the edited file would have %d bytes; at most %d are allowed", len(change.text), s.limits.EditBytes)
	}
	if err := t.unchanged(); err != nil {
		return nil, s.pathError("edit", a.Path, err)
	}
	if err := t.replace(ctx, change.text); err != nil {
		return nil, s.pathError("edit", a.Path, err)
	}
	return tool.TextResult(change.summary(slashed(name))), nil
}

// load reads the whole file that t stands for.
func (t *target) load(ctx context.Context, most int) ([]byte, error) {
	f, info, err := openRegular(t.dir, t.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t.old = info
	text, err := readUpTo(ctx, io.Reader(f), most+1)
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, refuse("Change it with exec, for example with sed", "%q has %d bytes; edit changes files of at most %d", shown(t.name), info.Size(), most)
	}
	return text, textual(text[:min(len(text), sniffBytes)], t.name)
}

// unchanged refuses to overwrite what somebody else wrote since load.
func (t *target) unchanged() error {
	now, err := t.dir.Lstat(t.name)
	if err != nil {
		return err
	}
	if !now.Mode().IsRegular() || now.Size() != t.old.Size() || !now.ModTime().Equal(t.old.ModTime()) {
		return refuse("Read the file again, then repeat the edit", "%q was changed by somebody else meanwhile", shown(t.name))
	}
	return nil
}

// change is an edited text.
type change struct {
	text  []byte
	count int
	line  int // of the first place, from 1
}

func (c change) summary(path string) string {
	if c.count == 1 {
		return fmt.Sprintf("Edited %s: replaced 1 place, at line %d.", path, c.line)
	}
	return fmt.Sprintf("Edited %s: replaced %d places, the first at line %d.", path, c.count, c.line)
}

// replaceText replaces the one place where a.OldText stands in text, or with
// ReplaceAll every place. Models write line feeds; a file with Windows line
// endings is matched, and stays, as it is.
func replaceText(text []byte, a editArgs) (change, error) {
	before, after := []byte(a.OldText), []byte(*a.NewText)
	crlf := bytes.Count(text, []byte("\r\n"))
	windows := crlf > 0 && crlf == bytes.Count(text, []byte("\n"))
	switch {
	case windows:
		before, after = toCRLF(before), toCRLF(after)
	case crlf > 0 && !bytes.Contains(text, before): // both endings in one file
		if other := toCRLF(before); bytes.Contains(text, other) {
			before, after = other, toCRLF(after)
		}
	}
	places := occurrences(text, before)
	switch {
	case len(places) == 0:
		return change{}, notFound(text, before, a)
	case len(places) > 1 && !a.ReplaceAll:
		return change{}, refuse("Give more of the text around the place so that it is unique, or set replaceAll",
			"oldText stands at more than one place in %q: lines %s", shown(a.Path), lineNumbers(text, places))
	case bytes.Equal(before, after):
		return change{}, invalid("Give the text as it should become", "oldText and newText are the same but for line endings, which edit keeps")
	}
	c := change{count: 1, line: lineAt(text, places[0])}
	if a.ReplaceAll {
		c.count = bytes.Count(text, before)
		c.text = bytes.ReplaceAll(text, before, after)
		return c, nil
	}
	c.text = make([]byte, 0, len(text)-len(before)+len(after))
	c.text = append(c.text, text[:places[0]]...)
	c.text = append(c.text, after...)
	c.text = append(c.text, text[places[0]+len(before):]...)
	return c, nil
}

// toCRLF turns every line ending into a Windows one.
func toCRLF(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

// maxPlaces is how many places an error names.
const maxPlaces = 10

// occurrences returns where sub stands in text, at most maxPlaces+1 of them.
// Overlapping places count, since either could be meant.
func occurrences(text, sub []byte) []int {
	var places []int
	for from := 0; len(places) <= maxPlaces; {
		i := bytes.Index(text[from:], sub)
		if i < 0 {
			break
		}
		places = append(places, from+i)
		from += i + 1
	}
	return places
}

// lineAt is the number, from 1, of the line that holds the byte at offset.
func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

func lineNumbers(text []byte, places []int) string {
	var b strings.Builder
	for i, p := range places {
		if i == maxPlaces {
			b.WriteString(" and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", lineAt(text, p))
	}
	return b.String()
}
