package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// spoken says whether an API's errors are written as OpenAI's.
func spoken(a provider.API) bool { return a == provider.Chat || a == provider.Responses }

// encodeError writes {"error":{message,type,param,code}}; an error that came
// from OpenAI's API goes out as it came.
func encodeError(e *provider.Error) []byte {
	if spoken(e.API) && len(e.Body) > 0 && json.Valid(e.Body) {
		if o, err := tool.SplitObject(e.Body); err == nil && !tool.Absent(o.Get("error")) {
			return e.Body
		}
	}
	return object(tool.Member{Name: "error", Value: errorObject(e)})
}

// errorObject is what stands under "error".
func errorObject(e *provider.Error) json.RawMessage {
	message := e.Message
	if message == "" {
		message = e.Error()
	}
	return object(
		tool.Member{Name: "message", Value: quote(message)},
		tool.Member{Name: "type", Value: quote(errorType(e))},
		tool.Member{Name: "param", Value: orNull(e.Param)},
		tool.Member{Name: "code", Value: orNull(e.Code)},
	)
}

// errorType is the error's type in OpenAI's words.
func errorType(e *provider.Error) string {
	switch {
	case e.Type != "" && (spoken(e.API) || e.API == ""):
		return e.Type
	case e.Status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case e.Status >= 400 && e.Status < 500:
		return "invalid_request_error"
	}
	return "server_error"
}

func orNull(s string) json.RawMessage {
	if s == "" {
		return json.RawMessage(null)
	}
	return quote(s)
}

// decodeError reads an error body: OpenAI's, and the likes of it that
// compatible servers write (a string under "error", a list of one, a bare
// object with a message, or plain text).
func decodeError(api provider.API, status int, body []byte) *provider.Error {
	e := &provider.Error{Status: status, API: api, Body: bytes.Clone(body[:min(len(body), provider.MaxErrorBody)])}
	raw := json.RawMessage(body)
	if items, ok := tool.SplitArray(raw); ok && len(items) > 0 {
		raw = items[0]
	}
	if !json.Valid(body) || !readError(e, raw) {
		e.Message, _ = tool.CutChars(strings.TrimSpace(strings.ToValidUTF8(string(e.Body), "�")), tool.MaxErrorText)
	}
	return e
}

// readError fills e from an error object or from an object that holds one.
func readError(e *provider.Error, raw json.RawMessage) bool {
	o, err := tool.SplitObject(raw)
	if err != nil {
		return false
	}
	if inner := o.Get("error"); !tool.Absent(inner) {
		if s, ok := tool.ReadString(inner); ok {
			e.Message = s
			return true
		}
		if o, err = tool.SplitObject(inner); err != nil {
			return false
		}
	}
	e.Message = textOf(o, "message")
	if e.Type = textOf(o, "type"); e.Type == "error" { // the type of a stream's event
		e.Type = ""
	}
	e.Param = textOf(o, "param")
	if e.Code = textOf(o, "code"); e.Code == "" && !tool.Absent(o.Get("code")) {
		e.Code = string(bytes.TrimSpace(o.Get("code"))) // compatible servers write a number
	}
	if e.Message == "" {
		e.Message = textOf(o, "detail")
	}
	return e.Message != "" || e.Code != "" || e.Type != ""
}

// streamError is an error that came inside a stream.
func streamError(api provider.API, raw json.RawMessage) *provider.Error {
	e := &provider.Error{API: api, Body: bytes.Clone(raw[:min(len(raw), provider.MaxErrorBody)])}
	if !json.Valid(raw) || !readError(e, raw) || e.Message == "" {
		e.Message, _ = tool.CutChars(strings.ToValidUTF8(string(e.Body), "�"), tool.MaxErrorText)
	}
	if e.Message == "" {
		e.Message = "it gave no reason"
	}
	return e
}

// errTooLong is a stream beyond maxStream.
func errTooLong() *provider.Error {
	return &provider.Error{Type: "server_error", Code: "stream_too_long",
		Message: "the stream was given up: the answer is longer than 16 MiB, or has more than 4096 calls"}
}

// errFrame is a frame that cannot be read.
func errFrame(why error) *provider.Error {
	return &provider.Error{Type: "server_error", Code: "bad_stream",
		Message: "read a frame of the stream: " + why.Error()}
}
