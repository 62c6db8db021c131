package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// bridge carries frames between the runner and the engine. Everything runs in
// one goroutine: the engine computes, and when nothing is left to compute the
// bridge blocks reading. It may block writing too, since the runner's reader
// never waits for its own writes.
type bridge struct {
	in       *wire.Reader
	out      *wire.Writer
	quoted   bytes.Buffer // what quote writes to
	quote    *json.Encoder
	lastID   uint32
	inFlight int       // requests without a reply
	types    sourceMap // of the stripped body; nil when it was plain JavaScript
}

func newBridge(in io.Reader, out io.Writer) *bridge {
	b := &bridge{in: wire.NewReader(bufio.NewReader(in), true), out: wire.NewWriter(out)}
	b.quote = json.NewEncoder(&b.quoted)
	b.quote.SetEscapeHTML(false)
	return b
}

// Send implements Host.
func (b *bridge) Send(typ int, payload string) (int, error) {
	id, err := b.write(wire.Type(typ), []byte(payload))
	return int(id), err
}

// Ask implements Host.
func (b *bridge) Ask(typ int, first, rest string) (int, error) {
	b.quoted.Reset()
	b.quoted.WriteByte('[')
	if err := b.quote.Encode(first); err != nil {
		return 0, fmt.Errorf("write a request: %w", err) // a string always marshals
	}
	if rest != "" {
		b.quoted.WriteByte(',')
		b.quoted.WriteString(rest)
	}
	b.quoted.WriteByte(']')
	b.inFlight++
	id, err := b.write(wire.Type(typ), b.quoted.Bytes())
	return int(id), err
}

func (b *bridge) write(typ wire.Type, payload []byte) (uint32, error) {
	b.lastID++
	return b.lastID, b.out.Write(wire.Frame{Type: typ, ID: b.lastID, Payload: payload})
}

// Locate implements Host.
func (b *bridge) Locate(line, column int) string {
	line, column = b.types.original(line, column)
	return strconv.Itoa(line) + ":" + strconv.Itoa(column)
}

// serve runs the one body that this process is for.
func (b *bridge) serve(engine Engine, ready wire.ReadyMessage) (int, error) {
	raw, err := json.Marshal(ready)
	if err != nil {
		return exitBroken, fmt.Errorf("write ready: %w", err)
	}
	if _, err := b.write(wire.Ready, raw); err != nil {
		return exitBroken, fmt.Errorf("write ready: %w", err)
	}
	frame, err := b.in.Read(wire.MaxToChild)
	if errors.Is(err, io.EOF) {
		return exitDone, nil // the runner has no use for this child
	}
	if err != nil {
		return exitBroken, fmt.Errorf("wait for the code: %w", err)
	}
	var msg wire.RunMessage
	if frame.Type != wire.Run {
		return exitBroken, fmt.Errorf("wait for the code: got a frame of type %d", frame.Type)
	}
	if err := json.Unmarshal(frame.Payload, &msg); err != nil {
		return exitBroken, fmt.Errorf("read the code: %w", err)
	}
	if _, err := b.write(wire.Started, nil); err != nil {
		return exitBroken, fmt.Errorf("confirm the start: %w", err)
	}
	if err := b.loop(engine, msg); err != nil {
		return exitBroken, err
	}
	return exitDone, nil
}

func (b *bridge) loop(engine Engine, msg wire.RunMessage) error {
	source := msg.Code
	msg.Code = ""
	limits, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("pass on the limits: %w", err)
	}
	ok, err := engine.Call("start", source, string(limits))
	if err != nil || !ok { // not ok: the code does not parse, and that has been said
		return err
	}
	for {
		if b.inFlight == 0 {
			done, err := engine.Idle()
			if err != nil || done {
				return err
			}
		}
		frame, err := b.in.Read(wire.MaxToChild)
		if err != nil {
			return fmt.Errorf("wait for a reply: %w", err)
		}
		if frame.Type != wire.Reply && frame.Type != wire.Fault {
			return fmt.Errorf("wait for a reply: got a frame of type %d", frame.Type)
		}
		b.inFlight--
		id := int(frame.ID)
		if frame.Type == wire.Fault {
			id = -id
		}
		if _, err := engine.Call("deliver", id, string(frame.Payload)); err != nil {
			return err
		}
	}
}
