package modelapi

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/turn"
)

// held takes the run that waits for the answers of the request, and what they
// are; nil when there is none.
func (x *exchange) held() (*heldRun, turn.Input) {
	last, ok := lastAnswer(x.req.Messages)
	if !ok {
		return nil, turn.Input{}
	}
	for _, calls := range x.server.held.asked(x.caller.Name, last) {
		before, in, ok := answersTo(x.req.Messages, calls)
		if !ok {
			continue
		}
		if kept := x.server.held.take(x.key(x.req.Messages[:before], calls)); kept != nil {
			return kept, in
		}
	}
	return nil, turn.Input{}
}

// lastAnswer is the call that the last answer behind the model's last word is to.
func lastAnswer(messages []provider.Message) (id string, ok bool) {
	for _, m := range slices.Backward(messages) {
		if m.Role == provider.Assistant {
			break
		}
		for _, b := range slices.Backward(m.Blocks) {
			if b.Kind == provider.ToolAnswer {
				return b.Answer.CallID, true
			}
		}
	}
	return "", false
}

// answersTo splits off what the caller says to a run that waits for those calls:
// the answers, and what comes beside them. In Responses, where a call and its
// answer are items each, clients put every answer behind its call. ok is false
// when the end of the conversation has an answer to another call, two to one, or
// a word of the model's in between: it is not this run that goes on there.
func answersTo(messages []provider.Message, calls []string) (before int, in turn.Input, ok bool) {
	open := make(map[string]bool, len(calls)) // by the id: whether the answer is yet to be found
	for _, id := range calls {
		open[id] = true
	}
	left := len(open)
	for before = len(messages); before > 0; before-- {
		m := messages[before-1]
		if m.Role == provider.Assistant && left == 0 {
			break
		}
		for _, b := range m.Blocks {
			switch {
			case b.Kind == provider.ToolAnswer:
				if !open[b.Answer.CallID] {
					return 0, in, false
				}
				open[b.Answer.CallID] = false
				left--
			case m.Role == provider.Assistant:
				if _, ours := open[b.Call.ID]; b.Kind != provider.ToolCall || !ours {
					return 0, in, false
				}
			}
		}
	}
	if before == 0 || left > 0 {
		return 0, in, false
	}
	for _, m := range messages[before:] {
		if m.Role != provider.Assistant {
			take(&in, m)
		}
	}
	return before, in, true
}

// take puts a message's answers beside each other, and what else it says behind.
func take(in *turn.Input, m provider.Message) {
	rest := m
	rest.Blocks = nil
	for _, b := range m.Blocks {
		if b.Kind == provider.ToolAnswer {
			in.Answers = append(in.Answers, b.Answer)
		} else {
			rest.Blocks = append(rest.Blocks, b)
		}
	}
	if len(rest.Blocks) == 0 {
		return
	}
	if len(rest.Blocks) < len(m.Blocks) {
		rest.Native = provider.Native{} // the message as it came holds the answers too
	}
	in.More = append(in.More, rest)
}

// shortID is the length below which an id of a call may be one that a model
// counts up. Those of vendors are longer, and random.
const shortID = 16

// key names a held run: by who asks, at which API, for which model and in which
// conversation; by all that the user has said, since ids of calls repeat with
// some models; and by the calls that are to be answered.
//
// What the system prompt says counts only where the ids repeat: some clients
// write something new into it with each request.
func (x *exchange) key(said []provider.Message, calls []string) heldKey {
	h := sha256.New()
	write(h, x.caller.Name, string(x.req.API), x.req.Model, x.r.Header.Get(sessionHeader))
	repeat := slices.ContainsFunc(calls, func(id string) bool { return len(id) < shortID })
	for _, m := range said {
		if m.Role == provider.User || repeat && m.Role == provider.System && !(x.req.API == provider.Responses && isInstructions(m)) {
			hashSaid(h, m)
		}
	}
	calls = slices.Sorted(slices.Values(calls))
	write(h, "calls")
	write(h, calls...)
	return heldKey(h.Sum(nil))
}

// hashSaid leaves out what is opaque: an API's own items of an answer, such as
// Responses' tool_search_output, come back as ones that are not the model's.
func hashSaid(h hash.Hash, m provider.Message) {
	for _, b := range m.Blocks {
		switch b.Kind {
		case provider.Text:
			write(h, string(m.Role), "text", b.Text)
		case provider.Image:
			write(h, string(m.Role), "image", b.Image.Data, b.Image.URL)
		case provider.ToolAnswer:
			write(h, string(m.Role), "answer", b.Answer.CallID)
		}
	}
}

// write adds texts so that no two lists of them are alike.
func write(h hash.Hash, parts ...string) {
	var size [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
}

func idsOfCalls(calls []provider.Call) []string {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.ID
	}
	return ids
}
