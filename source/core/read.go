package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/tool"
)

const (
	sniffBytes   = 8 * kib // the part of a file that says whether it is text
	maxSkipBytes = 1 << 30 // how far read counts lines to reach an offset
	blockBytes   = 64 * kib
)

type readArgs struct {
	Path       string  `json:"path"`
	Offset     integer `json:"offset"`     // first line, from 1
	Limit      integer `json:"limit"`      // lines
	ByteOffset integer `json:"byteOffset"` // from 0, instead of Offset
}

// read returns the text of a file as it is, with no line numbers, so that a
// part of it can be given to edit unchanged. What a reader must know beside the
// text follows in a block of its own.
func (s *Source) read(ctx context.Context, a readArgs) (*tool.Result, error) {
	if a.Offset < 0 || a.Limit < 0 || a.ByteOffset < 0 {
		return nil, invalid("offset and limit start at 1, byteOffset at 0", "a negative offset or limit")
	}
	if a.Offset > 0 && a.ByteOffset > 0 {
		return nil, invalid("Give one of them", "offset and byteOffset exclude each other")
	}
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	f, info, err := openRegular(s.root, name)
	if err != nil {
		return nil, s.pathError("read", a.Path, err)
	}
	defer f.Close()
	if err := sniff(f, a.Path); err != nil {
		return nil, s.pathError("read", a.Path, err)
	}
	part, err := cutPart(ctx, f, a, s.limits.ReadBytes)
	if err != nil {
		return nil, s.pathError("read", a.Path, err)
	}
	return part.result(a, info.Size())
}

// sniff refuses what is not text, and leaves the file at its start.
func sniff(f *os.File, path string) error {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if err := textual(head[:n], path); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// textual refuses the beginning of a file that is not text.
func textual(head []byte, path string) error {
	switch {
	case tool.ImageType(head) != "":
		return refuse("Call the image tool with this path", "%q is an image", shown(path))
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return refuse("Convert it first, for example with exec and iconv -f UTF-16 -t UTF-8", "%q is UTF-16 text, which is not read", shown(path))
	case bytes.IndexByte(head, 0) >= 0:
		return refuse("Use exec with a program that understands the format", "%q is a binary file", shown(path))
	}
	return nil
}

// part is a piece of a file.
type part struct {
	text     []byte
	first    int64 // number of the first line, from 1; 0 when read by bytes
	start    int64 // byte that the text starts at
	lines    int64 // whole or cut lines in the text
	end      bool  // the file ends with the text
	midLine  bool  // the text stops inside a line
	reachEnd bool  // the offset lies behind the last line
}

// cutPart reads the lines that were asked for, at most budget bytes.
func cutPart(ctx context.Context, f *os.File, a readArgs, budget int) (part, error) {
	p := part{first: max(int64(a.Offset), 1), start: int64(a.ByteOffset)}
	if a.ByteOffset > 0 {
		p.first = 0
	} else if a.Offset > 1 {
		if err := p.skipLines(ctx, f, int64(a.Offset)-1); err != nil || p.reachEnd {
			return p, err
		}
	}
	if _, err := f.Seek(p.start, io.SeekStart); err != nil {
		return p, err
	}
	// One byte more than the budget tells a file that ends here from one that
	// goes on; up to three more complete the last rune.
	text, err := readUpTo(ctx, f, budget+utf8.UTFMax)
	if err != nil {
		return p, err
	}
	if a.ByteOffset > 0 { // start at a rune
		for n := 0; n < utf8.UTFMax-1 && len(text) > 0 && text[0]&0xC0 == 0x80; n++ {
			text, p.start = text[1:], p.start+1
		}
		p.reachEnd = len(text) == 0
	}
	p.cut(text, int64(a.Limit), budget)
	return p, nil
}

// skipLines finds where the line after the first n begins.
func (p *part) skipLines(ctx context.Context, f *os.File, n int64) error {
	buf := make([]byte, blockBytes)
	for n > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.start > maxSkipBytes {
			return refuse("Use byteOffset, or find the place with grep", "line %d lies beyond the first GiB of the file", p.first)
		}
		got, err := f.Read(buf)
		for at := 0; at < got && n > 0; {
			i := bytes.IndexByte(buf[at:got], '\n')
			if i < 0 {
				p.start += int64(got - at)
				break
			}
			at, p.start, n = at+i+1, p.start+int64(i)+1, n-1
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if n > 0 {
		p.reachEnd = true
		return nil
	}
	// The offset may name the line after a final newline, which is none.
	one := make([]byte, 1)
	if _, err := f.ReadAt(one, p.start); errors.Is(err, io.EOF) {
		p.reachEnd = true
	}
	return nil
}

// cut keeps limit lines and budget bytes of text.
func (p *part) cut(text []byte, limit int64, budget int) {
	keep := len(text)
	if keep > budget {
		keep = budget
		if i := bytes.LastIndexByte(text[:keep], '\n'); i >= 0 && p.first > 0 {
			keep = i + 1 // whole lines, where there is one
		} else {
			for keep > 0 && budget-keep < utf8.UTFMax && !utf8.RuneStart(text[keep]) {
				keep--
			}
			keep = max(keep, 1)
		}
	}
	at := 0
	for at < keep && (limit == 0 || p.lines < limit) {
		p.lines++
		i := bytes.IndexByte(text[at:keep], '\n')
		if i < 0 {
			at = keep
			break
		}
		at += i + 1
	}
	p.text = text[:at]
	p.end = at == len(text)
	p.midLine = !p.end && at > 0 && text[at-1] != '\n'
}

// result writes the text and, where there is something to know, a note.
func (p *part) result(a readArgs, size int64) (*tool.Result, error) {
	if p.reachEnd {
		return nil, refuse("Read from a smaller offset", "%q ends before that offset; it has %d bytes", shown(a.Path), size)
	}
	if bytes.IndexByte(p.text, 0) >= 0 {
		return nil, refuse("Use exec with a program that understands the format", "%q holds binary data in this part", shown(a.Path))
	}
	var notes []string
	if len(p.text) == 0 && p.end {
		notes = append(notes, "The file is empty.")
	}
	if !utf8.Valid(p.text) {
		notes = append(notes, "The file is not valid UTF-8 here; bytes that could not be read are shown as \uFFFD.")
	}
	if !p.end {
		next := p.start + int64(len(p.text))
		what := fmt.Sprintf("bytes %d to %d", p.start, next-1)
		if p.first > 0 {
			what = fmt.Sprintf("lines %d to %d", p.first, p.first+p.lines-1)
		}
		if p.midLine {
			what += ", the last one cut"
		}
		how := fmt.Sprintf("offset=%d", p.first+p.lines)
		if p.midLine || p.first == 0 {
			how = fmt.Sprintf("byteOffset=%d", next)
		}
		notes = append(notes, fmt.Sprintf("These are %s of a file of %d bytes. Continue with %s.", what, size, how))
	}
	res := tool.TextResult(string(p.text))
	if len(notes) > 0 {
		res.Content = append(res.Content, tool.Text("["+strings.Join(notes, " ")+"]"))
	}
	return res, nil
}

// readUpTo reads at most max bytes in blocks, so that a call can be cancelled
// and memory grows only with what is there.
func readUpTo(ctx context.Context, r io.Reader, max int) ([]byte, error) {
	return readInto(ctx, r, nil, max)
}

// readInto is readUpTo with a buffer to use again.
func readInto(ctx context.Context, r io.Reader, buf []byte, max int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < max {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, min(blockBytes+len(buf), max-len(buf)))...)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), max, len(buf)+mib)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}
