package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

// maxMediaExtra bounds, in bytes, what a block of bytes holds besides its data.
const maxMediaExtra = 4 << 10

// mediaProblem says why an image, audio or blob must not be passed on, "" when it
// may.
func mediaProblem(c tool.Content, limits *Limits) string {
	block := c.Raw
	if c.Type == tool.TypeResource {
		o, err := tool.ReadObject(c.Raw)
		if err != nil {
			return "it is malformed"
		}
		block = o.Get("resource")
	}
	o, err := tool.ReadObject(block)
	if err != nil {
		return "it is malformed"
	}
	if foldedTwice(o) {
		return "it says something twice"
	}
	key, most := "data", limits.ImageBytes
	switch c.Type {
	case tool.TypeAudio:
		most = limits.AudioBytes
	case tool.TypeResource:
		key, most = "blob", limits.BlobBytes
	}
	var data, claim string
	if json.Unmarshal(o.Get(key), &data) != nil {
		return "it has no data"
	}
	if raw := o.Get("mimeType"); raw != nil && json.Unmarshal(raw, &claim) != nil {
		return "its MIME type is malformed"
	}
	if len(c.Raw)-len(o.Get(key)) > maxMediaExtra {
		return "it holds too much besides its data"
	}
	if size := base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(0, len(data)-2):], "="); size > most {
		return fmt.Sprintf("it has %d bytes; at most %d are passed on", size, most)
	}
	head, err := decodeHead(data)
	if err != nil {
		return "its data is not base64"
	}
	return claimProblem(c.Type, claim, head)
}

// fewFolded is how many names foldedTwice compares one with another.
const fewFolded = 32

// foldedTwice reports members whose names differ in case at most: readers differ
// in which of them they take. Of many members it also reports some whose names a
// lower case makes alike that are not.
func foldedTwice(o tool.Object) bool {
	if len(o) > fewFolded {
		seen := make(map[string]struct{}, len(o))
		for _, m := range o {
			name := strings.ToLower(strings.ToUpper(m.Name))
			if _, twice := seen[name]; twice {
				return true
			}
			seen[name] = struct{}{}
		}
		return false
	}
	for i, m := range o {
		if slices.ContainsFunc(o[:i], func(p tool.Member) bool { return strings.EqualFold(p.Name, m.Name) }) {
			return true
		}
	}
	return false
}

// decodeHead checks all of the base64 and returns the first bytes behind it.
func decodeHead(data string) ([]byte, error) {
	if strings.ContainsAny(data, "\r\n") {
		return nil, errors.New("line breaks in base64")
	}
	r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))
	head := make([]byte, 64)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(data)%4 != 0 {
		return nil, err
	}
	_, err = io.Copy(io.Discard, r)
	return head[:n], err
}

// claimProblem compares what the block says it is with its first bytes.
func claimProblem(typ, claim string, head []byte) string {
	claim = plainType(claim)
	kind, _, _ := strings.Cut(claim, "/")
	if typ == tool.TypeResource && kind != "image" && kind != "audio" {
		return "" // any bytes may be a file
	}
	if typ == tool.TypeImage {
		kind = "image"
	} else if typ == tool.TypeAudio {
		kind = "audio"
	}
	found := tool.ImageType(head)
	if kind == "audio" {
		found = audioType(head)
	}
	switch found {
	case "":
		return fmt.Sprintf("its bytes are no %s that is known here", kind)
	case claim:
		return ""
	}
	return fmt.Sprintf("it says it is %q and is %s", tool.Clean(claim, 60), found)
}

// plainType folds a MIME type and the names that mean the same.
func plainType(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ";")
	switch s = strings.TrimSpace(s); s {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "audio/wav"
	case "audio/mp3", "audio/x-mp3":
		return "audio/mpeg"
	case "audio/x-flac":
		return "audio/flac"
	case "audio/x-m4a", "audio/m4a":
		return "audio/mp4"
	case "audio/x-aac", "audio/aacp":
		return "audio/aac"
	case "audio/opus":
		return "audio/ogg"
	}
	return s
}

// audioType tells audio by its first bytes.
func audioType(b []byte) string {
	switch {
	case riff(b, "WAVE"):
		return "audio/wav"
	case bytes.HasPrefix(b, []byte("OggS")): // RFC 3533, 6
		return "audio/ogg"
	case bytes.HasPrefix(b, []byte("fLaC")): // RFC 9639, 6
		return "audio/flac"
	case len(b) >= 12 && string(b[4:8]) == "ftyp": // ISO/IEC 14496-12, 4.3
		return "audio/mp4"
	case bytes.HasPrefix(b, []byte("\x1A\x45\xDF\xA3")): // RFC 8794, 11.2.1: EBML
		return "audio/webm"
	case bytes.HasPrefix(b, []byte("ID3")): // ID3v2 before an MPEG stream
		return "audio/mpeg"
	case len(b) >= 2 && b[0] == 0xFF && b[1]&0xF6 == 0xF0: // ADTS: sync word, layer 0
		return "audio/aac"
	case len(b) >= 2 && b[0] == 0xFF && b[1]&0xE0 == 0xE0 && b[1]&0x06 != 0: // MPEG frame: sync word, layer 1 to 3
		return "audio/mpeg"
	}
	return ""
}

func riff(b []byte, form string) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == form
}
