package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds, in bytes, one message of a client over stdio.
const maxLine = 16 << 20

// Codes of JSON-RPC for a message that is none.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

// Stdio is a transport over a client's line-delimited messages. A line that is
// no message is answered with an error and forgotten: the SDK's own transport
// would end the session, and every call in flight with it.
func Stdio(in io.Reader, out io.Writer) mcp.Transport {
	w := &lineWriter{out: out}
	pr, pw := io.Pipe()
	go func() { _ = pw.CloseWithError(pass(bufio.NewReaderSize(in, 64<<10), pw, w)) }() // its error reaches the reader
	return &mcp.IOTransport{Reader: pr, Writer: w, MaxLineLength: maxLine + 1}
}

// pass hands good lines on until the input ends or nobody reads them.
func pass(in *bufio.Reader, to io.Writer, answers io.Writer) error {
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			refuse(answers, codeInvalid, fmt.Sprintf("a message of more than %d bytes was not read", maxLine))
			continue
		case err != nil && len(line) == 0:
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			refuse(answers, codeParse, "a line on standard input is not JSON: one message a line is expected")
			continue
		}
		if _, err := jsonrpc.DecodeMessage(line); err != nil {
			refuse(answers, codeInvalid, "a line on standard input is no JSON-RPC 2.0 message; batches are not taken")
			continue
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// readLine reads to the next line end. Of a line that is too long it keeps
// nothing.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			line, long = nil, true
		} else if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, bufio.ErrTooLong
		}
		return line, err
	}
}

// refuse answers a message whose id is not known. A client that is gone needs
// no answer.
func refuse(out io.Writer, code int, message string) {
	_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, message)
}

// lineWriter keeps whole lines of several writers apart.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// Close does nothing: standard output is closed by the end of the process.
func (w *lineWriter) Close() error { return nil }
