package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Many real servers print a banner or a stray log line on stdout. So lines that
// are no JSON-RPC are skipped and remembered, up to these bounds.
const (
	maxJunkLines  = 100
	maxJunkSample = 200 // bytes shown of the first such line
)

// drainPatience is how long stdout may stay open after the server has ended.
const drainPatience = time.Second

// stdioTransport starts the server when the SDK connects.
type stdioTransport struct {
	cfg     *Server
	opt     *Options
	traffic *traffic

	mu   sync.Mutex
	conn *stdioConn // set by Connect
}

// started returns the connection, nil before there is one.
func (t *stdioTransport) started() *stdioConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conn
}

func (t *stdioTransport) Connect(context.Context) (sdk.Connection, error) {
	proc, err := startProcess(t.cfg)
	if err != nil {
		return nil, err
	}
	conn := newStdioConn(proc, t.traffic, t.opt)
	t.mu.Lock()
	t.conn = conn
	t.mu.Unlock()
	return conn, nil
}

// stdioConn speaks newline-delimited JSON-RPC with a child process.
type stdioConn struct {
	proc     *process
	traffic  *traffic
	limit    int
	grace    time.Duration
	patience time.Duration // with server/discover

	incoming chan jsonrpc.Message
	writes   chan []byte

	done      chan struct{} // closed by Close
	closeOnce sync.Once
	workers   sync.WaitGroup

	readDone chan struct{} // closed when nothing more can be read

	mu      sync.Mutex
	left    bool  // the process ended by itself
	readErr error // why reading ended, nil for an end of file and for our own
	junk    int
	sample  string
	probe   *time.Timer // running while server/discover is unanswered
	probeID jsonrpc.ID
}

func newStdioConn(proc *process, t *traffic, opt *Options) *stdioConn {
	c := &stdioConn{
		proc:     proc,
		traffic:  t,
		limit:    opt.MaxMessageBytes,
		grace:    opt.StopGrace,
		patience: opt.ProbePatience,
		incoming: make(chan jsonrpc.Message, 16),
		writes:   make(chan []byte),
		done:     make(chan struct{}),
		readDone: make(chan struct{}),
	}
	c.workers.Go(c.readLoop)
	c.workers.Go(c.writeLoop)
	c.workers.Go(c.watchExit)
	return c
}

func (c *stdioConn) SessionID() string { return "" }

// Read returns the next message that concerns the SDK.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		return msg, nil
	default:
	}
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.readDone:
		select { // what was read before the end still counts
		case msg := <-c.incoming:
			return msg, nil
		default:
			return nil, io.EOF
		}
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write hands a message to the writer. When ctx ends first the message is
// still written in full, since half a line would break the stream.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	c.traffic.outbound(ctx, msg)
	c.watchProbe(msg)
	select {
	case c.writes <- append(data, '\n'):
		return nil
	case <-c.done:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeLoop is the only writer, so a server that does not read its stdin blocks
// nobody who has a deadline.
func (c *stdioConn) writeLoop() {
	for {
		select {
		case data := <-c.writes:
			if _, err := c.proc.stdin.Write(data); err != nil {
				return // the reader sees the end of the process and reports it
			}
		case <-c.done:
			return
		}
	}
}

// watchExit gives a process that ended without closing stdout, because one of
// its children left the group with it, a short time before the pipe is cut.
func (c *stdioConn) watchExit() {
	select {
	case <-c.proc.exited:
	case <-c.done:
		return
	}
	select {
	case <-c.done: // it was ended, perhaps
		return
	default:
	}
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	timer := time.NewTimer(drainPatience)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = c.proc.stdout.Close()
	case <-c.readDone:
	case <-c.done:
	}
}

// Close ends the process and returns when nothing of it is left. A process that
// broke the stream is not asked politely.
func (c *stdioConn) Close() error {
	if c.broken() {
		c.shut(0)
	}
	c.shut(c.grace)
	return nil
}

// shut is Close with a grace of the caller's choice; only the first counts.
func (c *stdioConn) shut(grace time.Duration) {
	c.closeOnce.Do(func() {
		close(c.done)
		c.mu.Lock()
		if c.probe != nil {
			c.probe.Stop()
		}
		c.mu.Unlock()
		c.proc.stop(grace)
	})
	c.workers.Wait()
}

func (c *stdioConn) readLoop() {
	defer close(c.readDone)
	r := bufio.NewReaderSize(c.proc.stdout, 64<<10)
	for {
		line, err := readLine(r, c.limit)
		if len(line) > 0 && err == nil {
			err = c.accept(line)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) { // we closed it
				c.mu.Lock()
				c.readErr = err
				c.mu.Unlock()
			}
			return
		}
	}
}

var errMessageTooLong = errors.New("message too long")

// readLine returns the next line without its end, in memory of its own. A last
// line without an end is dropped: it was cut off.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("%w: a line on its stdout is longer than the limit of %d bytes", errMessageTooLong, limit)
		}
		line = appendPart(line, part, limit)
		if err == nil {
			return bytes.TrimSpace(line), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// appendPart doubles the memory of a long line up to the limit, so that a line
// costs at most twice its length.
func appendPart(line, part []byte, limit int) []byte {
	if need := len(line) + len(part); line != nil && need > cap(line) {
		grown := make([]byte, len(line), max(need, min(2*cap(line), limit)))
		copy(grown, line)
		line = grown
	}
	return append(line, part...)
}

// accept takes one line: a message, a batch of the older era, or junk.
func (c *stdioConn) accept(line []byte) error {
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		if json.Unmarshal(line, &parts) != nil {
			return c.junkLine(line)
		}
	}
	for _, part := range parts {
		msg, err := decodeMessage(part)
		if err != nil {
			if err := c.junkLine(part); err != nil {
				return err
			}
			continue
		}
		if resp, ok := msg.(*jsonrpc.Response); ok {
			c.probeAnswered(resp.ID)
		}
		if msg, err = c.traffic.inbound(msg); err != nil {
			return err
		}
		if msg == nil {
			continue
		}
		select {
		case c.incoming <- msg:
		case <-c.done:
			return io.EOF
		}
	}
	return nil
}

func (c *stdioConn) junkLine(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.junk++
	if c.junk == 1 {
		c.sample = sampleOf(line)
	}
	if c.junk > maxJunkLines {
		return fmt.Errorf("its stdout carries something other than MCP messages: more than %d such lines, the first is %q", maxJunkLines, c.sample)
	}
	return nil
}

// failure says what was wrong with the stream, "" when nothing was.
func (c *stdioConn) failure() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.readErr != nil:
		return c.readErr.Error()
	case c.junk > 0:
		return fmt.Sprintf("%d lines on its stdout were no MCP messages, the first is %q", c.junk, c.sample)
	}
	return ""
}

// ended reports whether the process ended before it was told to.
func (c *stdioConn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// broken reports whether the stream itself, not the process, was at fault.
func (c *stdioConn) broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readErr != nil
}

// watchProbe starts the patience for server/discover.
func (c *stdioConn) watchProbe(msg jsonrpc.Message) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Method != methodDiscover {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probeID = req.ID
	c.probe = time.AfterFunc(c.patience, func() {
		select {
		case c.incoming <- &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: "no answer to " + methodDiscover,
		}}:
		case <-c.done:
		}
	})
}

func (c *stdioConn) probeAnswered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probe != nil && c.probeID == id {
		c.probe.Stop()
		c.probe = nil
	}
}
