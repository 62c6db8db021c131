package code

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolsearch/toolsearch/tool"
)

// handleKey marks an object as a content handle.
const handleKey = "$content"

// handles keeps the content blocks that stay outside while their handles are
// inside. It is guarded by its session's lock.
type handles struct {
	blocks []tool.Content // handle "c1" is blocks[0]
	bytes  int
	lost   int
}

// add keeps a block and returns its handle, or false when there is no room.
func (h *handles) add(c tool.Content) (string, bool) {
	if len(h.blocks) >= maxHandles || h.bytes+len(c.Raw) > maxContent {
		h.lost++
		return "", false
	}
	h.blocks = append(h.blocks, c)
	h.bytes += len(c.Raw)
	return "c" + strconv.Itoa(len(h.blocks)), true
}

func (h *handles) get(id string) (int, bool) {
	if len(id) < 2 || id[0] != 'c' {
		return 0, false
	}
	n, err := strconv.Atoi(id[1:])
	if err != nil || n < 1 || n > len(h.blocks) || "c"+strconv.Itoa(n) != id {
		return 0, false
	}
	return n - 1, true
}

// in returns the blocks whose handles are part of a JSON value, each once, in
// order of appearance.
func (h *handles) in(value json.RawMessage) []tool.Content {
	if len(h.blocks) == 0 || !bytes.Contains(value, []byte(handleKey)) {
		return nil
	}
	var out []tool.Content
	seen := make(map[int]bool)
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	previous := json.Token(nil)
	for {
		t, err := d.Token()
		if err != nil {
			return out
		}
		// A string value "$content" before a string is harmless: ids of handles
		// are only looked up, and only this run's can be found.
		if key, ok := previous.(string); ok && key == handleKey {
			if id, ok := t.(string); ok {
				if n, ok := h.get(id); ok && !seen[n] {
					seen[n] = true
					out = append(out, h.blocks[n])
				}
			}
		}
		previous = t
	}
}

// envelope writes {tool, result} for the body, with handles for what it has no
// use for as bytes.
func (s *session) envelope(reply CallReply) (json.RawMessage, error) {
	entry := reply.Tool
	if len(entry) == 0 {
		entry = json.RawMessage("null")
	}
	content := make([]json.RawMessage, 0, len(reply.Result.Content))
	for _, c := range reply.Result.Content {
		raw, err := s.cross(c)
		if err != nil {
			return nil, err
		}
		content = append(content, raw)
	}
	return json.Marshal(struct {
		Tool   json.RawMessage `json:"tool"`
		Result any             `json:"result"`
	}{entry, struct {
		Content []json.RawMessage `json:"content"`
		Details json.RawMessage   `json:"details,omitempty"`
	}{content, reply.Result.Details}})
}

// cross returns what the body gets for a block: the block, or its handle.
func (s *session) cross(c tool.Content) (json.RawMessage, error) {
	media, size, binary := binaryOf(c)
	if !binary {
		return c.Raw, nil
	}
	s.mu.Lock()
	id, ok := s.handles.add(c)
	s.mu.Unlock()
	if !ok {
		return json.Marshal(struct {
			Omitted  string `json:"$omitted"`
			MIMEType string `json:"mimeType"`
			Bytes    int    `json:"bytes"`
		}{fmt.Sprintf("this run holds %d MiB of content already", maxContent>>20), media, size})
	}
	return json.Marshal(struct {
		Content  string `json:"$content"`
		MIMEType string `json:"mimeType"`
		Bytes    int    `json:"bytes"`
	}{id, media, size})
}

// binaryOf reports a block's media type and length when it carries bytes: an
// image, an audio, or a resource with a blob. Texts and links are JSON that the
// body can read.
func binaryOf(c tool.Content) (mediaType string, size int, ok bool) {
	var block struct {
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		Resource struct {
			Blob     *string `json:"blob"`
			MIMEType string  `json:"mimeType"`
		} `json:"resource"`
	}
	if c.Type != tool.TypeImage && c.Type != tool.TypeAudio && c.Type != tool.TypeResource {
		return "", 0, false
	}
	if err := json.Unmarshal(c.Raw, &block); err != nil {
		return "", len(c.Raw), true // not readable here, but still byte for byte
	}
	if c.Type != tool.TypeResource {
		return block.MIMEType, decodedLength(block.Data), true
	}
	if block.Resource.Blob == nil {
		return "", 0, false
	}
	return block.Resource.MIMEType, decodedLength(*block.Resource.Blob), true
}

// decodedLength is the number of bytes that base64 text stands for.
func decodedLength(text string) int {
	n := len(text)
	for n > 0 && text[n-1] == '=' {
		n--
	}
	return base64.RawStdEncoding.DecodedLen(n)
}
