package openai

import (
	"io"
	"net/http"

	"github.com/toolsearch/toolsearch/provider"
)

// responses is the format of Responses.
type responses struct{}

// Responses is OpenAI's Responses API. An item is a message in neutral words;
// instructions are a System message in front, and an input that is a string is
// one User message. Items that only this API has (searches for tools, further
// tools, approvals of MCP calls, what hosted tools did) are Opaque.
func Responses() provider.Format { return responses{} }

func (responses) API() provider.API { return provider.Responses }

func (responses) Path() string { return "/responses" }

func (responses) Authorize(h http.Header, key string) { authorize(h, key) }

func (responses) EncodeError(e *provider.Error) []byte { return encodeError(e) }

func (responses) DecodeError(status int, body []byte) *provider.Error {
	return decodeError(provider.Responses, status, body)
}

func (responses) NewStreamDecoder() provider.StreamDecoder { return newResponsesDecoder() }

func (responses) NewStreamEncoder(w io.Writer, head provider.Response, req *provider.Request) provider.StreamEncoder {
	return newResponsesEncoder(w, head, req)
}
