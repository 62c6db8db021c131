package provider_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/toolsearch/toolsearch/provider"
)

// plainFormat is a wire format of this test: {"say": text} is a request, a
// whole answer and a piece of a stream; {"error": {…}} is a refusal.
type plainFormat struct{ path string }

type plainBody struct {
	Say   string      `json:"say,omitempty"`
	Error *plainError `json:"error,omitempty"`
}

type plainError struct{ Type, Code, Message string }

func (e *plainError) asError(status int) *provider.Error {
	return &provider.Error{Status: status, Type: e.Type, Code: e.Code, Message: e.Message}
}

func (plainFormat) API() provider.API { return "plain" }

func (f plainFormat) Path() string {
	if f.path != "" {
		return f.path
	}
	return "/say"
}

func (plainFormat) Authorize(h http.Header, key string) { h.Set("X-Api-Key", key) }

func (plainFormat) EncodeRequest(r *provider.Request) ([]byte, error) {
	return json.Marshal(plainBody{Say: r.Model})
}

func (plainFormat) DecodeResponse(body []byte) (*provider.Response, error) {
	var b plainBody
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	if b.Error != nil {
		return nil, b.Error.asError(0)
	}
	return say(b.Say), nil
}

func say(text string) *provider.Response {
	return &provider.Response{Output: []provider.Message{{Role: provider.Assistant,
		Blocks: []provider.Block{{Kind: provider.Text, Text: text}}}}}
}

func (plainFormat) DecodeError(status int, body []byte) *provider.Error {
	var b plainBody
	if json.Unmarshal(body, &b) != nil || b.Error == nil {
		return &provider.Error{Status: status}
	}
	return b.Error.asError(status)
}

func (plainFormat) NewStreamDecoder() provider.StreamDecoder { return &plainDecoder{} }

type plainDecoder struct {
	text string
	done bool
}

func (d *plainDecoder) Frame(f provider.Frame) ([]provider.Event, error) {
	if string(f.Data) == "[DONE]" {
		d.done = true
		return nil, nil
	}
	var b plainBody
	if err := json.Unmarshal(f.Data, &b); err != nil {
		return nil, err
	}
	if b.Error != nil {
		return nil, b.Error.asError(0)
	}
	d.text += b.Say
	return []provider.Event{{Kind: provider.TextDelta, Text: b.Say}}, nil
}

func (d *plainDecoder) Response() (*provider.Response, error) {
	if !d.done {
		return nil, errors.New("the stream was cut")
	}
	return say(d.text), nil
}

var errNotServed = errors.New("this format is not served")

func (plainFormat) DecodeRequest([]byte) (*provider.Request, error)   { return nil, errNotServed }
func (plainFormat) EncodeResponse(*provider.Response) ([]byte, error) { return nil, errNotServed }
func (plainFormat) EncodeError(*provider.Error) []byte                { return nil }

func (plainFormat) NewStreamEncoder(io.Writer, provider.Response, *provider.Request) provider.StreamEncoder {
	return nil
}
