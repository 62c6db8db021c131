package modelapi

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Bounds of the past responses that previous_response_id can name.
const (
	maxPast      = 1024
	maxPastBytes = 64 << 20 // of requests and answers, counted whole for each
)

// past keeps the conversations behind the last responses of the Responses API.
type past struct {
	time time.Duration
	now  func() time.Time

	mu     sync.Mutex
	byID   map[pastKey]*list.Element
	oldest *list.List // of *pastResponse
	bytes  int
}

// pastKey has the caller in it: an id opens nobody else's conversation.
type pastKey struct{ caller, id string }

type pastResponse struct {
	key      pastKey
	messages []provider.Message // of the request and of the answer
	bytes    int
	until    time.Time
}

func newPast(d time.Duration) *past {
	return &past{time: d, now: time.Now, byID: map[pastKey]*list.Element{}, oldest: list.New()}
}

// put keeps the conversation up to a response, which took about so many bytes.
func (p *past) put(key pastKey, messages []provider.Message, bytes int) {
	if bytes > maxPastBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for e := p.oldest.Front(); e != nil; e = p.oldest.Front() {
		r := e.Value.(*pastResponse)
		if p.oldest.Len() < maxPast && p.bytes+bytes <= maxPastBytes && now.Before(r.until) {
			break
		}
		p.remove(e)
	}
	r := &pastResponse{key: key, messages: messages, bytes: bytes, until: now.Add(p.time)}
	p.byID[key] = p.oldest.PushBack(r)
	p.bytes += bytes
}

// get returns a conversation and its size. It stays: a caller may go on from
// one response in several ways.
func (p *past) get(key pastKey) (messages []provider.Message, bytes int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byID[key]
	if !ok {
		return nil, 0, false
	}
	r := e.Value.(*pastResponse)
	if !p.now().Before(r.until) {
		p.remove(e)
		return nil, 0, false
	}
	return slices.Clip(r.messages), r.bytes, true
}

func (p *past) remove(e *list.Element) {
	r := p.oldest.Remove(e).(*pastResponse)
	delete(p.byID, r.key)
	p.bytes -= r.bytes
}
