// Package wire is the protocol between a runner and its child: frames over
// two pipes, and the messages they carry.
//
// A frame is a 12-byte header (payload length, type, id: three little-endian
// 32-bit integers) and a raw JSON payload. A length over the reader's limit is
// refused before anything is allocated.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Version is the protocol's version. A child that speaks another is refused.
const Version = 1

// Frame limits in bytes, payload only.
const (
	MaxToParent = 8 << 20 // what a runner accepts from a child
	MaxToChild  = 8 << 20 // what a child accepts from its runner
)

const headerSize = 12

// Type says what a frame means.
type Type uint32

// Frames to the child.
const (
	Run   Type = 1 // a RunMessage, exactly once
	Reply Type = 2 // a request's value; the id is the request's
	Fault Type = 3 // a request's FaultMessage; the id is the request's
)

// Frames to the runner. Their ids rise strictly; a reply names its request's.
const (
	Ready    Type = 16 // a ReadyMessage, before anything else
	Started  Type = 17 // the Run frame arrived; nothing has been evaluated yet
	Search   Type = 18 // [query, options]
	Describe Type = 19 // [id]
	Call     Type = 20 // [id, args]
	Log      Type = 21 // a LogMessage
	Result   Type = 22 // a ResultMessage, the last frame
	Failure  Type = 23 // a FailureMessage, the last frame
)

// Errors of a reader. Every other error is the transport's own.
var (
	ErrTooLong   = errors.New("frame is longer than the limit")
	ErrTruncated = errors.New("stream ended inside a frame")
)

// Frame is one message.
type Frame struct {
	Type    Type
	ID      uint32
	Payload []byte
}

// Read reads one frame of at most max payload bytes. It returns io.EOF when
// the stream ends between frames, and ErrTruncated when it ends inside one.
func Read(r io.Reader, max uint32) (Frame, error) {
	return (&Reader{r: r}).Read(max)
}

// Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	r    io.Reader
	head [headerSize]byte
	// reuse lets a payload live only until the next Read.
	reuse bool
	buf   []byte
}

// NewReader returns a Reader of r, which ought to be buffered. With reuse, a
// frame's payload is valid until the next Read only.
func NewReader(r io.Reader, reuse bool) *Reader { return &Reader{r: r, reuse: reuse} }

// payload returns room for n bytes.
func (r *Reader) payload(n uint32) []byte {
	if !r.reuse || n > maxKept {
		return make([]byte, n)
	}
	if uint32(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	return r.buf[:n]
}

// Read reads one frame, like the function of this name.
func (r *Reader) Read(max uint32) (Frame, error) {
	head := &r.head
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Frame{}, ErrTruncated
		}
		return Frame{}, err
	}
	n := binary.LittleEndian.Uint32(head[0:])
	f := Frame{
		Type: Type(binary.LittleEndian.Uint32(head[4:])),
		ID:   binary.LittleEndian.Uint32(head[8:]),
	}
	if n > max {
		return f, fmt.Errorf("read frame of type %d: %d bytes, at most %d: %w", f.Type, n, max, ErrTooLong)
	}
	if n == 0 {
		return f, nil
	}
	f.Payload = r.payload(n)
	if _, err := io.ReadFull(r.r, f.Payload); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return f, ErrTruncated
		}
		return f, err
	}
	return f, nil
}

// Write writes one frame with a single call to w.
func Write(w io.Writer, f Frame) error {
	return NewWriter(w).Write(f)
}

// maxKept bounds the buffers that a Reader or Writer keeps for its next frame.
const maxKept = 64 << 10

// Writer writes frames, each with a single call to its stream, and keeps its
// buffer from one to the next. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame.
func (w *Writer) Write(f Frame) error {
	if len(f.Payload) > MaxToChild {
		return fmt.Errorf("write frame of type %d: %d bytes, at most %d: %w", f.Type, len(f.Payload), MaxToChild, ErrTooLong)
	}
	buf := slices.Grow(w.buf[:0], headerSize+len(f.Payload))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(f.Payload)))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(f.Type))
	buf = binary.LittleEndian.AppendUint32(buf, f.ID)
	buf = append(buf, f.Payload...)
	if cap(buf) <= maxKept {
		w.buf = buf
	}
	_, err := w.w.Write(buf)
	return err
}
