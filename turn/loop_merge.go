package turn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/provider"
)

// apart stands between the texts of two rounds. The calls between them are not
// shown, and without it the last word of one would run into the next.
const apart = "\n\n"

// merged is the answer of several rounds, as one.
type merged struct {
	out   []provider.Message
	usage provider.Usage
	last  *provider.Response
}

// add puts one round's answer after those before it, without its calls.
func (m *merged) add(resp *provider.Response) {
	m.messages(resp.Output)
	m.usage = m.usage.Add(resp.Usage)
	m.last = resp
}

func (m *merged) messages(output []provider.Message) {
	if m.unfinished() && startsWord((&provider.Response{Output: output}).Text()) {
		m.separate()
	}
	for _, msg := range output {
		kept := slices.DeleteFunc(slices.Clone(msg.Blocks), func(b provider.Block) bool { return b.Kind == provider.ToolCall })
		switch {
		case len(kept) == 0:
			continue
		case len(kept) < len(msg.Blocks):
			msg.Native = provider.Native{} // it holds the calls
		}
		msg.Blocks = kept
		m.out = append(m.out, msg)
	}
}

// block puts one block of our own after the rest.
func (m *merged) block(b provider.Block) {
	m.out = append(m.out, provider.Message{Role: provider.Assistant, Blocks: []provider.Block{b}})
}

// lastText finds the last text that is not empty.
func (m *merged) lastText() (message, block int, ok bool) {
	for i, msg := range slices.Backward(m.out) {
		for j, b := range slices.Backward(msg.Blocks) {
			if b.Kind == provider.Text && b.Text != "" {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// unfinished reports whether there is a text that does not end in white space.
func (m *merged) unfinished() bool {
	i, j, ok := m.lastText()
	if !ok {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(m.out[i].Blocks[j].Text)
	return !unicode.IsSpace(end)
}

func (m *merged) separate() {
	i, j, _ := m.lastText()
	b := &m.out[i].Blocks[j] // they were cloned
	b.Text += apart
	b.Native, m.out[i].Native = provider.Native{}, provider.Native{}
}

func startsWord(s string) bool {
	first, n := utf8.DecodeRuneInString(s)
	return n > 0 && !unicode.IsSpace(first)
}

// response is the whole so far.
func (m *merged) response(stop provider.Stop) *provider.Response {
	out := &provider.Response{Output: slices.Clip(m.out), Stop: stop, Usage: m.usage}
	if m.last != nil {
		out.ID, out.Model, out.API = m.last.ID, m.last.Model, m.last.API
		for _, f := range m.last.Fields {
			// Responses repeats the request, which is not the caller's.
			if f.Name != "tools" && f.Name != "tool_choice" && f.Name != "instructions" {
				out.Fields = append(out.Fields, f)
			}
		}
	}
	return out
}

// relay passes a round's stream on to the caller, and keeps it, since a round
// that is cut short at a limit gives no answer.
type relay struct {
	emit   func(provider.Event) error // may be nil
	apart  bool                       // a text must be set apart from the one before
	blocks []provider.Block
	text   strings.Builder
}

func (s *relay) event(e provider.Event) error {
	switch {
	case e.Kind == provider.BlockDone && e.Block.Kind == provider.ToolCall:
		return nil
	case e.Kind == provider.BlockDone:
		s.flush()
		s.blocks = append(s.blocks, e.Block)
	case e.Kind == provider.TextDelta && e.Text != "":
		if s.apart && startsWord(e.Text) {
			if err := s.pass(provider.Event{Kind: provider.TextDelta, Text: apart}); err != nil {
				return err
			}
		}
		s.apart = false
		s.text.WriteString(e.Text)
	}
	return s.pass(e)
}

func (s *relay) pass(e provider.Event) error {
	if s.emit == nil {
		return nil
	}
	return s.emit(e)
}

func (s *relay) flush() {
	if s.text.Len() > 0 {
		s.blocks = append(s.blocks, textBlock(s.text.String()))
		s.text.Reset()
	}
}

// partial is what has come of the round.
func (s *relay) partial() []provider.Message {
	s.flush()
	if len(s.blocks) == 0 {
		return nil
	}
	return []provider.Message{{Role: provider.Assistant, Blocks: s.blocks}}
}

// texts are the messages' texts alone: what is left of a round that was cut
// short and may be said again to any API.
func texts(messages []provider.Message) []provider.Message {
	var out []provider.Message
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Kind == provider.Text {
				out = append(out, provider.Message{Role: m.Role, Blocks: []provider.Block{b}})
			}
		}
	}
	return out
}
