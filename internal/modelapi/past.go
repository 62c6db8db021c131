package modelapi

import (
	"container/list"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/provider"
)

// Bounds of the past responses that previous_response_id can name.
const (
	maxPast      = 1024
	maxPastBytes = 64 << 20 // of requests and answers, counted whole for each
	pastTime     = 24 * time.Hour
)

// Bytes of memory that a message and a block take beside their texts, about: a
// body of many small messages becomes much larger when it is read.
const (
	messageBytes = 96
	blockBytes   = 320
)

// sizeOf is what messages take beside their texts.
func sizeOf(messages []provider.Message) int {
	n := 0
	for _, m := range messages {
		n += messageBytes
		for _, b := range m.Blocks {
			n += blockBytes * (1 + len(b.Answer.Content))
		}
	}
	return n
}

// past keeps the conversations behind the last responses of the Responses API.
type past struct {
	mu     sync.Mutex
	byID   map[pastKey]*list.Element
	byItem map[pastKey]*list.Element // by the ids of the items of an answer
	oldest *list.List                // of *pastResponse
	bytes  int
}

// pastKey has the caller in it: an id opens nobody else's conversation.
type pastKey struct{ caller, id string }

type pastResponse struct {
	key      pastKey
	messages []provider.Message // of the request and of the answer
	items    []pastItem         // of the answer
	bytes    int
	until    time.Time
}

// pastItem is an item of an answer that has an id.
type pastItem struct {
	id   string
	item provider.Message
}

// itemsOf lists what later requests can refer to by id alone.
func itemsOf(answer []provider.Message) []pastItem {
	var out []pastItem
	for _, m := range answer {
		var item struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(m.Raw, &item) == nil && item.ID != "" {
			out = append(out, pastItem{item.ID, m})
		}
	}
	return out
}

func newPast() *past {
	return &past{byID: map[pastKey]*list.Element{}, byItem: map[pastKey]*list.Element{}, oldest: list.New()}
}

// put keeps a request and its answer, which took about so many bytes.
func (p *past) put(key pastKey, request, answer []provider.Message, bytes int) {
	if bytes > maxPastBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for e := p.oldest.Front(); e != nil && !now.Before(e.Value.(*pastResponse).until); e = p.oldest.Front() {
		p.remove(e)
	}
	for p.oldest.Len() >= maxPast || p.bytes+bytes > maxPastBytes {
		p.remove(greediest(p.oldest, weighPast))
	}
	r := &pastResponse{key: key, messages: slices.Concat(request, answer), items: itemsOf(answer), bytes: bytes, until: now.Add(pastTime)}
	e := p.oldest.PushBack(r)
	p.byID[key] = e
	for _, i := range r.items {
		p.byItem[pastKey{key.caller, i.id}] = e
	}
	p.bytes += bytes
}

// weighPast is held.weigh for responses.
func weighPast(e *list.Element) (caller string, weight int) {
	r := e.Value.(*pastResponse)
	return r.key.caller, maxPastBytes/maxPast + r.bytes
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
	if !time.Now().Before(r.until) {
		p.remove(e)
		return nil, 0, false
	}
	return slices.Clip(r.messages), r.bytes, true
}

// item returns an item of a past answer by its id.
func (p *past) item(key pastKey) (provider.Message, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byItem[key]
	if !ok {
		return provider.Message{}, false
	}
	r := e.Value.(*pastResponse)
	if !time.Now().Before(r.until) {
		p.remove(e)
		return provider.Message{}, false
	}
	i := slices.IndexFunc(r.items, func(i pastItem) bool { return i.id == key.id })
	return r.items[i].item, true
}

func (p *past) remove(e *list.Element) {
	r := p.oldest.Remove(e).(*pastResponse)
	delete(p.byID, r.key)
	for _, i := range r.items {
		if k := (pastKey{r.key.caller, i.id}); p.byItem[k] == e {
			delete(p.byItem, k)
		}
	}
	p.bytes -= r.bytes
}
