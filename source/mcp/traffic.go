package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolsearch/toolsearch/tool"
)

// The SDK decodes results into Go types, which loses unknown fields, rounds
// large integers and rejects a whole result for one unknown content type. So
// every message passes through a traffic before the SDK sees it: the raw result
// of a proxied request is kept in its exchange, and the SDK gets a small
// stand-in. Notifications are handled here too, in the order in which they came
// and without the SDK's unbounded queue, so that a flood of them costs nothing.

// Methods that the transports look at.
const (
	methodCall        = "tools/call"
	methodList        = "tools/list"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	noteProgress      = "notifications/progress"
	noteToolsChanged  = "notifications/tools/list_changed"
	noteCancelled     = "notifications/cancelled"
	paramHeaderMarker = "x-mcp-header"
)

// maxAsked bounds the requests of a server that wait for our answer.
const maxAsked = 64

var errTooManyRequests = errors.New("it sends requests faster than it reads the answers")

// exchange is one proxied request and what came back for it.
type exchange struct {
	method string

	mu     sync.Mutex
	id     jsonrpc.ID
	sent   bool            // bytes may have reached the server
	raw    json.RawMessage // the result, nil until it came
	err    error           // why the transport could not deliver a result
	rpc    *jsonrpc.Error  // the error that the server answered with
	status int             // HTTP status of the answer, 0 for stdio
}

type exchangeKey struct{}

// withExchange marks a context so that the transport can tie the request made
// under it to x.
func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) result() (raw json.RawMessage, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw, x.err
}

func (x *exchange) wasSent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent
}

// unsent takes back that bytes may have reached the server.
func (x *exchange) unsent() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = false
}

func (x *exchange) httpStatus() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

func (x *exchange) setStatus(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = status
}

// refuse records the error that the server answered with.
func (x *exchange) refuse(err error) {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rpc = rpc
}

func (x *exchange) refusal() *jsonrpc.Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rpc
}

// fail records why no result can come.
func (x *exchange) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil && x.raw == nil {
		x.err = err
	}
}

// traffic is what one connection knows of the messages in flight.
type traffic struct {
	changed func() // the server says that its tools changed; must not block

	mu       sync.Mutex
	open     map[jsonrpc.ID]*exchange
	progress map[int64]*progressSink
	token    int64
	asked    int        // the server's requests that we have not answered
	muted    jsonrpc.ID // a request whose answer the SDK must not see
}

func newTraffic(changed func()) *traffic {
	return &traffic{
		changed:  changed,
		open:     map[jsonrpc.ID]*exchange{},
		progress: map[int64]*progressSink{},
	}
}

// outbound is told of every message before it is written.
func (t *traffic) outbound(ctx context.Context, msg jsonrpc.Message) {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		t.mu.Lock()
		t.asked = max(t.asked-1, 0)
		t.mu.Unlock()
	case *jsonrpc.Request:
		x := exchangeFrom(ctx)
		if x == nil || !msg.IsCall() || msg.Method != x.method {
			return
		}
		x.mu.Lock()
		x.id, x.sent = msg.ID, true
		x.mu.Unlock()
		t.mu.Lock()
		t.open[msg.ID] = x
		t.mu.Unlock()
	}
}

// mute hides the answer to a request from the SDK.
func (t *traffic) mute(id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = id
}

// forget ends an exchange, answered or not.
func (t *traffic) forget(x *exchange) {
	x.mu.Lock()
	id := x.id
	x.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[id] == x {
		delete(t.open, id)
	}
}

// inbound returns what the SDK is to see of a message, nil for nothing. An
// error means that the connection cannot go on.
func (t *traffic) inbound(msg jsonrpc.Message) (jsonrpc.Message, error) {
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			return t.request(msg)
		}
		return t.notification(msg), nil
	case *jsonrpc.Response:
		return t.response(msg), nil
	}
	return nil, nil
}

func (t *traffic) request(msg *jsonrpc.Request) (jsonrpc.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if t.asked > maxAsked {
		return nil, errTooManyRequests
	}
	return msg, nil
}

func (t *traffic) notification(msg *jsonrpc.Request) jsonrpc.Message {
	switch msg.Method {
	case noteProgress:
		t.report(msg.Params)
	case noteToolsChanged:
		t.changed()
	case noteCancelled:
		return msg
	}
	return nil
}

func (t *traffic) response(msg *jsonrpc.Response) jsonrpc.Message {
	t.mu.Lock()
	x := t.open[msg.ID]
	delete(t.open, msg.ID)
	muted := t.muted.IsValid() && msg.ID == t.muted
	t.mu.Unlock()
	switch {
	case muted:
		return nil
	case x == nil:
		return msg
	case msg.Error != nil:
		x.refuse(msg.Error)
		return msg
	}
	x.mu.Lock()
	x.raw = msg.Result
	x.mu.Unlock()
	return &jsonrpc.Response{ID: msg.ID, Result: standIn(x.method, msg.Result)}
}

// standIn is a result that always decodes. The SDK must know the tools that map
// arguments to HTTP headers, and needs nothing else.
func standIn(method string, raw json.RawMessage) json.RawMessage {
	if method == methodCall {
		return json.RawMessage(`{"content":[]}`)
	}
	var kept []json.RawMessage
	if bytes.Contains(raw, []byte(paramHeaderMarker)) {
		var page struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(raw, &page) == nil {
			for _, def := range page.Tools {
				if bytes.Contains(def, []byte(paramHeaderMarker)) {
					kept = append(kept, def)
				}
			}
		}
	}
	out, err := json.Marshal(struct {
		Tools []json.RawMessage `json:"tools"`
	}{append([]json.RawMessage{}, kept...)})
	if err != nil {
		return json.RawMessage(`{"tools":[]}`)
	}
	return out
}

// progressSink hands one call's progress on until the call has returned.
type progressSink struct {
	mu sync.Mutex
	fn func(tool.Progress)
}

// watch returns a fresh progress token for fn, and the function that ends it.
func (t *traffic) watch(fn func(tool.Progress)) (token int64, stop func()) {
	sink := &progressSink{fn: fn}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token++
	token = t.token
	t.progress[token] = sink
	return token, func() {
		t.mu.Lock()
		delete(t.progress, token)
		t.mu.Unlock()
		sink.mu.Lock() // waits for a report that is under way
		sink.fn = nil
		sink.mu.Unlock()
	}
}

// maxProgressText bounds, in bytes, the message of a progress report.
const maxProgressText = 2000

func (t *traffic) report(params json.RawMessage) {
	var note struct {
		Token    int64   `json:"progressToken"`
		Progress float64 `json:"progress"`
		Total    float64 `json:"total"`
		Message  string  `json:"message"`
	}
	if json.Unmarshal(params, &note) != nil {
		return // not a token of ours, or malformed: nobody waits for it
	}
	t.mu.Lock()
	sink := t.progress[note.Token]
	t.mu.Unlock()
	if sink == nil {
		return
	}
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if sink.fn != nil {
		sink.fn(tool.Progress{
			Progress: note.Progress,
			Total:    note.Total,
			Message:  tool.Clean(note.Message, maxProgressText),
		})
	}
}
