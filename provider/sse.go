package provider

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxFrame is the most bytes of one server-sent event, its longest line
// included.
const MaxFrame = 8 << 20

// ErrFrameTooLong is the error of a frame above MaxFrame.
var ErrFrameTooLong = errors.New("an event of the stream is too long")

// FrameReader splits a stream of server-sent events into frames, as the
// event stream format of WHATWG's HTML standard says. Lines end in LF, CRLF or
// CR, and a frame is returned as soon as the blank line behind it has begun.
// Comments are skipped, and so are id and retry: they serve a client that
// connects again, and an answer of a model cannot be resumed.
//
// It differs from the standard in one thing: a last frame without a blank line
// is returned too, since not every model server writes that line. Whether the
// answer is whole is for the StreamDecoder to say.
//
// It is for one goroutine.
type FrameReader struct {
	r       *bufio.Reader
	line    []byte // the line being read
	started bool   // a line was read: no byte order mark from here on
	afterCR bool   // the last line ended in CR, which an LF may follow
	event   []byte
	data    []byte
	hasData bool
	// unfinished is true when the last frame was ended by the stream alone.
	unfinished bool
}

// NewFrameReader returns a reader of the frames in r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, 16<<10)}
}

// Next returns the next frame, and io.EOF after the last one. The frame's bytes
// are the caller's.
func (f *FrameReader) Next() (Frame, error) {
	f.reset()
	for {
		err := f.readLine()
		switch {
		case err == nil && len(f.line) > 0:
			err = f.field(f.line)
		case err == nil:
			if f.hasData {
				return f.frame(), nil
			}
			f.reset()
		case errors.Is(err, io.EOF):
			if ferr := f.field(f.line); ferr != nil {
				return Frame{}, ferr
			}
			if f.hasData {
				f.unfinished = true
				return f.frame(), nil
			}
			return Frame{}, io.EOF
		}
		if err != nil {
			return Frame{}, err
		}
	}
}

func (f *FrameReader) reset() {
	f.event, f.data, f.hasData = f.event[:0], f.data[:0], false
}

func (f *FrameReader) frame() Frame {
	return Frame{Event: string(f.event), Data: slices.Clone(f.data)}
}

// readLine reads the next line into f.line, without its end. At the end of the
// stream the line holds what was left, and the error is io.EOF.
func (f *FrameReader) readLine() error {
	f.line = f.line[:0]
	for {
		if _, err := f.r.Peek(1); err != nil {
			f.trimMark()
			return err
		}
		chunk, _ := f.r.Peek(f.r.Buffered()) // in the buffer, so it cannot fail
		if f.afterCR {
			f.afterCR = false
			if chunk[0] == '\n' {
				f.discard(1)
				continue
			}
		}
		end := lineEnd(chunk)
		if len(f.line)+end > MaxFrame {
			return fmt.Errorf("%w: a line has more than %d bytes", ErrFrameTooLong, MaxFrame)
		}
		f.line = append(f.line, chunk[:end]...)
		if end == len(chunk) {
			f.discard(end)
			continue
		}
		f.afterCR = chunk[end] == '\r'
		f.discard(end + 1)
		f.trimMark()
		return nil
	}
}

// discard drops n bytes that are in the buffer, which cannot fail.
func (f *FrameReader) discard(n int) { _, _ = f.r.Discard(n) }

// trimMark drops a byte order mark from the first line.
func (f *FrameReader) trimMark() {
	if !f.started {
		f.line = bytes.TrimPrefix(f.line, []byte("\xEF\xBB\xBF"))
	}
	f.started = true
}

// lineEnd returns where the first line end of b is, or len(b).
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		b = b[:i]
	}
	return len(b)
}

// field takes in one line that is not blank. What it does not know it skips.
func (f *FrameReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		f.event = append(f.event[:0], value...)
	case "data":
		if len(f.data)+len(value)+1 > MaxFrame {
			return fmt.Errorf("%w: more than %d bytes", ErrFrameTooLong, MaxFrame)
		}
		if f.hasData {
			f.data = append(f.data, '\n')
		}
		f.data = append(f.data, value...)
		f.hasData = true
	}
	return nil
}
