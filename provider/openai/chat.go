package openai

import (
	"io"
	"net/http"

	"github.com/toolsearch/toolsearch/provider"
)

// chat is the format of Chat Completions.
type chat struct{}

// Chat is OpenAI's Chat Completions, which most other vendors and local
// servers speak too. Of a response's choices the first is read; the others
// only pass through, when a whole response goes out as it came.
func Chat() provider.Format { return chat{} }

func (chat) API() provider.API { return provider.Chat }

func (chat) Path() string { return "/chat/completions" }

func (chat) Authorize(h http.Header, key string) { authorize(h, key) }

func (chat) EncodeError(e *provider.Error) []byte { return encodeError(e) }

func (chat) DecodeError(status int, body []byte) *provider.Error {
	return decodeError(provider.Chat, status, body)
}

func (chat) NewStreamDecoder() provider.StreamDecoder { return newChatDecoder() }

func (chat) NewStreamEncoder(w io.Writer, head provider.Response, req *provider.Request) provider.StreamEncoder {
	return newChatEncoder(w, head, req)
}
