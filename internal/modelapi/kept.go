package modelapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Bounds of what is written to a Past.
const (
	maxKept      = 8 << 20 // bytes of one conversation
	maxKeptQueue = 16      // conversations that wait to be written
	keepTime     = 5 * time.Second
	lastKeepTime = 10 * time.Second // for all of them, when the server closes
)

// Past keeps the conversations behind the last responses beyond the end of the
// process. It is safe for concurrent use, and bounds what it keeps.
type Past interface {
	// Put writes what only this caller may read under the id, until then. body is a
	// request of Responses.
	Put(ctx context.Context, caller, id string, body []byte, until time.Time) error
	// Get returns what Put wrote; nil when it is not there, or no longer.
	Get(ctx context.Context, caller, id string) ([]byte, error)
}

// keeper writes to a Past aside: an answer does not wait for a disk. What is
// queued when the server closes is written; what is too much, or comes in the last
// moment before a crash, is not, and the client sends the whole conversation.
type keeper struct {
	to     Past // nil keeps nothing
	format provider.Format
	logger *slog.Logger
	queue  chan keeping
	stop   func()
	done   chan struct{}
}

type keeping struct {
	key      pastKey
	messages []provider.Message
	until    time.Time
}

func newKeeper(to Past, f provider.Format, logger *slog.Logger) *keeper {
	k := &keeper{to: to, format: f, logger: logger, queue: make(chan keeping, maxKeptQueue), done: make(chan struct{})}
	if to == nil || f == nil {
		k.to, k.stop = nil, func() {}
		close(k.done)
		return k
	}
	stopping := make(chan struct{})
	k.stop = sync.OnceFunc(func() { close(stopping) })
	go k.write(stopping)
	return k
}

// put queues a conversation of about so many bytes.
func (k *keeper) put(key pastKey, messages []provider.Message, bytes int) {
	if k.to == nil || bytes > maxKept {
		return
	}
	select {
	case k.queue <- keeping{key, messages, time.Now().Add(pastTime)}:
	default:
		k.logger.Warn("a response is not kept beyond a restart: they come faster than they can be written", "id", key.id)
	}
}

func (k *keeper) write(stopping <-chan struct{}) {
	defer close(k.done)
	for {
		select {
		case what := <-k.queue:
			k.one(context.Background(), what)
		case <-stopping:
			ctx, cancel := context.WithTimeout(context.Background(), lastKeepTime)
			defer cancel()
			for ctx.Err() == nil {
				select {
				case what := <-k.queue:
					k.one(ctx, what)
				default:
					return
				}
			}
			return
		}
	}
}

func (k *keeper) one(ctx context.Context, what keeping) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	body, err := k.format.EncodeRequest(&provider.Request{Model: "-", Messages: what.messages})
	if err == nil {
		err = k.to.Put(ctx, what.key.caller, what.key.id, body, what.until)
	}
	if err != nil {
		k.logger.Error("a response is not kept beyond a restart", "id", what.key.id, "error", err)
	}
}

// get reads a conversation that an earlier process has kept.
func (k *keeper) get(ctx context.Context, key pastKey) (messages []provider.Message, bytes int, err error) {
	if k.to == nil {
		return nil, 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	body, err := k.to.Get(ctx, key.caller, key.id)
	if err != nil || body == nil {
		return nil, 0, err
	}
	req, err := k.format.DecodeRequest(body)
	if err != nil {
		return nil, 0, fmt.Errorf("read a response that was kept: %w", err)
	}
	return req.Messages, len(body), nil
}

// close writes what is queued, and waits for it.
func (k *keeper) close() {
	k.stop()
	<-k.done
}

// before finds the conversation that a request goes on from, in memory or where it
// was kept.
func (x *exchange) before(id string) ([]provider.Message, *provider.Error) {
	key := pastKey{x.caller.Name, id}
	if messages, size, ok := x.server.past.get(key); ok {
		x.size += size
		return messages, nil
	}
	messages, size, err := x.server.kept.get(x.r.Context(), key)
	switch {
	case err != nil:
		x.server.logger.Error("a response that was kept cannot be read", "caller", x.caller.Name, "error", err)
		return nil, refusal(http.StatusServiceUnavailable, "the previous response cannot be read now; try again, or send the whole conversation as input")
	case messages == nil:
		return nil, x.noResponse(id)
	case !x.server.bodies.take(x.caller.Name, int64(size)): // unlike in memory, it is this request's alone
		return nil, tooMuch()
	}
	x.body += int64(size)
	x.size += size + sizeOf(messages)
	return messages, nil
}
