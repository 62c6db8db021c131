package turn

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// maxNote bounds what a note about content that no model API takes repeats of it.
const maxNote = 300

// answerOf puts a result into what a model is sent: texts and images as they
// are, the text of embedded resources, and notes of what model APIs do not take.
func answerOf(res *tool.Result) provider.Answer {
	a := provider.Answer{IsError: res.IsError}
	texts := false
	for _, c := range res.Content {
		b := blockOf(c)
		texts = texts || c.Type == tool.TypeText
		a.Content = append(a.Content, b)
	}
	if !texts && len(res.Details) > 0 {
		a.Content = slices.Insert(a.Content, 0, textBlock(string(res.Details)))
	}
	if len(a.Content) == 0 {
		a.Content = []provider.Block{textBlock("(The tool answered nothing.)")}
	}
	return a
}

func textBlock(s string) provider.Block { return provider.Block{Kind: provider.Text, Text: s} }

func blockOf(c tool.Content) provider.Block {
	var body struct {
		Data     string `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Resource struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Blob     string  `json:"blob"`
		} `json:"resource"`
	}
	if c.Type == tool.TypeText {
		return textBlock(c.Text())
	}
	if err := json.Unmarshal(c.Raw, &body); err != nil {
		return textBlock(fmt.Sprintf("[a content block of type %q that cannot be read]", tool.Clean(c.Type, 100)))
	}
	res := body.Resource
	switch {
	case c.Type == tool.TypeImage:
		return image(body.Data, body.MIMEType)
	case c.Type == tool.TypeAudio:
		return textBlock(fmt.Sprintf("[audio, %s, %d bytes: it cannot be shown here]", tool.Clean(body.MIMEType, 100), len(body.Data)/4*3))
	case c.Type == tool.TypeResource && res.Text != nil:
		return textBlock(*res.Text)
	case c.Type == tool.TypeResource && strings.HasPrefix(res.MIMEType, "image/"):
		return image(res.Blob, res.MIMEType)
	case c.Type == tool.TypeResource:
		return textBlock(fmt.Sprintf("[file %s, %s, %d bytes: it cannot be shown here]", tool.Clean(res.URI, maxNote), tool.Clean(res.MIMEType, 100), len(res.Blob)/4*3))
	case c.Type == tool.TypeResourceLink: // an image too: nobody is sent to an address that a tool chose
		return textBlock(fmt.Sprintf("[link to %s: %s]", tool.Clean(body.Name, maxNote), tool.Clean(body.URI, maxNote)))
	}
	return textBlock(fmt.Sprintf("[a content block of type %q: %s]", tool.Clean(c.Type, 100), tool.Clean(string(c.Raw), maxNote)))
}

// image is a picture of a kind that model APIs take, or a note in its place: one
// bad picture would have the whole request refused, in this round and all later
// ones.
func image(data, claimed string) provider.Block {
	data = unwrapped(data)
	kind := ""
	if isBase64(data) {
		head, err := base64.StdEncoding.DecodeString(data[:min(len(data), 16)])
		if err == nil {
			kind = tool.ImageType(head)
		}
	}
	if kind == "" {
		return textBlock(fmt.Sprintf("[an image, %s, %d bytes: not of a kind that can be shown here]", tool.Clean(claimed, 100), len(data)/4*3))
	}
	return provider.Block{Kind: provider.Image, Image: provider.ImageData{MIMEType: kind, Data: data}}
}

// unwrapped takes out the line ends that MIME puts into base64 (RFC 2045, 6.8);
// model APIs take none.
func unwrapped(data string) string {
	if !strings.ContainsAny(data, "\r\n") {
		return data
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(data)
}

// isBase64 reports whether all of data is base64 with padding (RFC 4648, 4). It
// takes no memory: a tool's result may have megabytes.
func isBase64(data string) bool {
	if len(data)%4 != 0 {
		return false
	}
	body := strings.TrimSuffix(strings.TrimSuffix(data, "="), "=")
	for i := range len(body) {
		c := body[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

// resultOf puts a caller's answer into a result, for the pipeline. What only one
// API knows keeps its bytes.
func resultOf(a provider.Answer) *tool.Result {
	res := &tool.Result{IsError: a.IsError}
	for _, b := range a.Content {
		switch {
		case b.Kind == provider.Text:
			res.Content = append(res.Content, tool.Text(b.Text))
		case b.Kind == provider.Image && b.Image.URL != "":
			res.Content = append(res.Content, content(tool.TypeResourceLink, struct {
				Type     string `json:"type"`
				URI      string `json:"uri"`
				Name     string `json:"name"`
				MIMEType string `json:"mimeType,omitempty"`
			}{tool.TypeResourceLink, b.Image.URL, "image", b.Image.MIMEType}))
		case b.Kind == provider.Image:
			res.Content = append(res.Content, content(tool.TypeImage, struct {
				Type     string `json:"type"`
				Data     string `json:"data"`
				MIMEType string `json:"mimeType"`
			}{tool.TypeImage, b.Image.Data, b.Image.MIMEType}))
		case len(b.Raw) > 0:
			var c tool.Content
			if c.UnmarshalJSON(b.Raw) == nil {
				res.Content = append(res.Content, c)
			}
		}
	}
	if len(a.References) > 0 {
		res.Content = append(res.Content, tool.Text("Tools that are available now: "+strings.Join(a.References, ", ")))
	}
	return res
}

func content(typ string, v any) tool.Content {
	raw, err := tool.Encode(v)
	if err != nil { // structs of strings always marshal
		return tool.Text("[a content block that cannot be written]")
	}
	return tool.Content{Type: typ, Raw: raw}
}

// sameResult reports whether the pipeline has left a caller's answer as it was.
func sameResult(a, b *tool.Result) bool {
	return a.IsError == b.IsError && slices.EqualFunc(a.Content, b.Content, func(x, y tool.Content) bool { return bytes.Equal(x.Raw, y.Raw) })
}
