package tool

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Result is what a tool answered.
type Result struct {
	// Content is what a model reads, block by block, in the tool's order.
	Content []Content
	// Details is the machine-readable answer of a JSON-returning tool (MCP's
	// structuredContent), nil when there is none.
	Details json.RawMessage
	// IsError says that the tool itself reports a failure.
	IsError bool
	// Raw is the whole MCP result as the server sent it, nil for other sources.
	Raw json.RawMessage
}

// Content is one block of a result in MCP's content format. Raw holds every
// field, known or not, as it came.
type Content struct {
	Type string
	Raw  json.RawMessage
}

// Content types of MCP.
const (
	TypeText         = "text"
	TypeImage        = "image"
	TypeAudio        = "audio"
	TypeResource     = "resource"
	TypeResourceLink = "resource_link"
)

// MarshalJSON writes the block as it came.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c.Raw) == 0 {
		return nil, fmt.Errorf("marshal content block of type %q: it has no bytes", c.Type)
	}
	return c.Raw, nil
}

// UnmarshalJSON keeps the bytes and reads only the type.
func (c *Content) UnmarshalJSON(b []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("read content block: %w", err)
	}
	c.Type, c.Raw = head.Type, append(json.RawMessage(nil), b...)
	return nil
}

// Text returns a text block.
func Text(s string) Content {
	raw, _ := json.Marshal(struct { // a struct of two strings always marshals
		Type string `json:"type"`
		Text string `json:"text"`
	}{TypeText, strings.ToValidUTF8(s, "\uFFFD")})
	return Content{Type: TypeText, Raw: raw}
}

// Binary returns an image or audio block (typ is TypeImage or TypeAudio).
func Binary(typ, mimeType string, data []byte) Content {
	raw, _ := json.Marshal(struct { // strings and bytes always marshal
		Type     string `json:"type"`
		Data     []byte `json:"data"`
		MIMEType string `json:"mimeType"`
	}{typ, data, mimeType})
	return Content{Type: typ, Raw: raw}
}

// Text returns the text of a text block, and "" for any other.
func (c Content) Text() string {
	if c.Type != TypeText {
		return ""
	}
	var body struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(c.Raw, &body) != nil {
		return ""
	}
	return body.Text
}

// Text joins the text blocks of the result with newlines.
func (r *Result) Text() string {
	var b strings.Builder
	for _, c := range r.Content {
		if c.Type != TypeText {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.Text())
	}
	return b.String()
}

// TextResult is a successful result of one text block.
func TextResult(s string) *Result { return &Result{Content: []Content{Text(s)}} }

// JSONResult is a successful result whose details are v and whose text is v
// as JSON, for clients that read only text.
func JSONResult(v any) (*Result, error) {
	raw, err := Encode(v)
	if err != nil {
		return nil, fmt.Errorf("write result details: %w", err)
	}
	return &Result{Content: []Content{Text(string(raw))}, Details: raw}, nil
}
