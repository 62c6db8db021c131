package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// event is one server-sent event, after the HTML standard's event stream
// format: fields are lines, an empty line ends the event.
type event struct {
	name, id, retry string
	data            []byte
}

// readEvent returns the next event of at most limit bytes. At the end of the
// stream an unfinished event with data counts, since some servers forget the
// last empty line.
func readEvent(r *bufio.Reader, limit int) (event, error) {
	var e event
	size, lines := 0, 0
	for {
		line, err := readField(r, limit-size)
		size += len(line)
		if err != nil {
			if errors.Is(err, io.EOF) && len(e.data) > 0 {
				return e, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if lines == 0 {
				continue
			}
			return e, nil
		}
		lines++
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "retry":
			e.retry = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
}

// readField returns a line without its end.
func readField(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errMessageTooLong
		}
		line = appendPart(line, part, limit)
		if err == nil || (errors.Is(err, io.EOF) && len(line) > 0) {
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// appendTo writes the event in wire form; data must be one line.
func (e *event) appendTo(b []byte) []byte {
	field := func(name, value string) {
		if value != "" {
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, strings.NewReplacer("\n", "", "\r", "").Replace(value)...)
			b = append(b, '\n')
		}
	}
	field("event", e.name)
	field("id", e.id)
	field("retry", e.retry)
	if len(e.data) > 0 {
		b = append(b, "data: "...)
		b = append(b, e.data...)
		b = append(b, '\n')
	}
	return append(b, '\n')
}

// eventFilter is the body of an event stream as the SDK sees it: every message
// has passed through the traffic first.
type eventFilter struct {
	src  io.ReadCloser
	r    *bufio.Reader
	call *pendingCall
	link *httpLink

	out []byte
	err error
}

func (l *httpLink) filterEvents(src io.ReadCloser, call *pendingCall) *eventFilter {
	return &eventFilter{src: src, r: bufio.NewReaderSize(src, 32<<10), call: call, link: l}
}

func (f *eventFilter) Close() error { return f.src.Close() }

func (f *eventFilter) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.next()
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// next fills out with the next event, or sets err.
func (f *eventFilter) next() {
	e, err := readEvent(f.r, f.link.limit)
	if err == nil && len(e.data) > 0 && (e.name == "" || e.name == "message") {
		e.data, err = f.link.pass(e.data)
	}
	if err == nil {
		f.out = e.appendTo(f.out[:0])
		return
	}
	f.err = err
	if errors.Is(err, errMessageTooLong) || errors.Is(err, errBadMessage) {
		// The call that this stream answers fails, the connection lives on.
		if answer := f.call.failed(f.link.describe(err)); answer != nil {
			f.out, f.err = (&event{data: answer}).appendTo(nil), io.EOF
		}
	}
}

// pass sends one encoded message through the traffic and returns what the SDK
// is to see, nil for nothing.
func (l *httpLink) pass(data []byte) ([]byte, error) {
	msg, err := decodeMessage(data)
	if err != nil {
		return nil, err
	}
	if msg, err = l.traffic.inbound(msg); err != nil || msg == nil {
		return nil, err
	}
	out, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", errBadMessage, sampleOf(data))
	}
	return out, nil
}

func (l *httpLink) describe(err error) error {
	if errors.Is(err, errMessageTooLong) {
		return fmt.Errorf("%w: an answer is longer than the limit of %d bytes", errMessageTooLong, l.limit)
	}
	return err
}
