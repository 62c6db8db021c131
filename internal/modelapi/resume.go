package modelapi

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/turn"
)

// answersOf splits off what the caller says after the model's last word: the
// answers to its calls, and what comes beside them.
func answersOf(messages []provider.Message) (before int, in turn.Input) {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != provider.Assistant {
		last--
	}
	if last < 0 {
		return len(messages), in
	}
	for _, m := range messages[last+1:] {
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
			continue
		}
		if len(rest.Blocks) < len(m.Blocks) {
			rest.Native = provider.Native{} // the message as it came holds the answers too
		}
		in.More = append(in.More, rest)
	}
	return last + 1, in
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

func idsOfAnswers(answers []provider.Answer) []string {
	ids := make([]string, len(answers))
	for i, a := range answers {
		ids[i] = a.CallID
	}
	return ids
}
