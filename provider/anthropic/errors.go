package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

const (
	// maxErrorText bounds, in characters, what of a body that is not the API's JSON
	// becomes the message.
	maxErrorText = 1000
	// statusOverloaded is the vendor's own status for an API that has too much to do.
	statusOverloaded = 529
)

// typeOf returns the vendor's type of error for an HTTP status, as its page on
// errors lists them.
func typeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusConflict:
		return "conflict_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case statusOverloaded:
		return "overloaded_error"
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

// known tells whether a type of error is one of the vendor's.
func known(kind string) bool {
	switch kind {
	case "invalid_request_error", "authentication_error", "billing_error", "permission_error",
		"not_found_error", "conflict_error", "request_too_large", "rate_limit_error",
		"timeout_error", "overloaded_error", "api_error":
		return true
	}
	return false
}

// EncodeError writes {"type":"error","error":{"type","message"}}. A body that this
// API sent goes out as it came.
func (format) EncodeError(e *provider.Error) []byte {
	if e.API == provider.Messages {
		if o, err := tool.ReadObject(e.Body); err == nil && kindOf(o) == "error" && json.Valid(e.Body) {
			return e.Body
		}
	}
	kind := typeOf(e.Status)
	switch {
	case e.API == provider.Messages && e.Type != "":
		kind = e.Type
	case e.Status == 0 && known(e.Type):
		kind = e.Type
	}
	message := e.Message
	if message == "" {
		message = e.Error()
	}
	inner := object(kind)
	inner.set("message", message)
	if e.Details != nil {
		inner.set("details", e.Details)
	}
	raw, err := inner.json()
	if err != nil {
		return []byte(`{"type":"error","error":{"type":"api_error","message":"the error could not be written"}}`)
	}
	return append(append([]byte(`{"type":"error","error":`), raw...), '}')
}

// DecodeError reads an error's body. One that is not this API's, such as a
// proxy's page, becomes the message, cut to 1,000 characters.
func (format) DecodeError(status int, body []byte) *provider.Error {
	e := &provider.Error{Status: status, API: provider.Messages, Body: body[:min(len(body), provider.MaxErrorBody)]}
	if o, err := tool.ReadObject(body); err == nil {
		readError(e, o)
	}
	if e.Message == "" && e.Type == "" {
		e.Message, _ = tool.CutChars(strings.ToValidUTF8(strings.TrimSpace(string(e.Body)), "�"), maxErrorText)
	}
	if e.Type == "" {
		e.Type = typeOf(status)
	}
	return e
}

// readError fills e from an error object, also from the shapes of lookalikes: a
// text in place of the inner object, or the message on top.
func readError(e *provider.Error, o tool.Object) {
	e.Message, _ = tool.ReadString(o.Get("message"))
	if text, ok := tool.ReadString(o.Get("error")); ok {
		e.Message = text
	}
	inner, err := tool.ReadObject(o.Get("error"))
	if err != nil {
		return
	}
	e.Type = kindOf(inner)
	if text, ok := tool.ReadString(inner.Get("message")); ok {
		e.Message = text
	}
	if details, err := tool.ReadObject(inner.Get("details")); err == nil {
		e.Code, _ = tool.ReadString(details.Get("error_code"))
	}
}

// wrong is the refusal of a request for what one field says. field is a path
// such as messages.0.content.1.text.
func wrong(field, format string, args ...any) *provider.Error {
	return &provider.Error{
		Status: http.StatusBadRequest, Type: typeOf(http.StatusBadRequest), Param: field,
		Message: field + ": " + fmt.Sprintf(format, args...),
	}
}
