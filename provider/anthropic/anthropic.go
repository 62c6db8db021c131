// Package anthropic speaks Anthropic's Messages API: requests and responses,
// read and written, whole and streamed.
//
// What came as Messages goes out as Messages byte for byte: a message, a block,
// a tool and every field of a request or a response is kept as it was written,
// with its thinking signatures, cache breakpoints, citations and whatever this
// package does not know. Only the order of the top-level members is this
// package's own, and white space between tokens is closed up in a stream, where
// a line break would end a frame. Pieces of other APIs are put into Messages'
// words; what they cannot say is left out: other APIs' hosted tools, thoughts
// that nobody signed, and blocks that are Opaque.
//
// Whoever changes a decoded message, block or tool clears its Native, since that
// is what is written.
package anthropic

import (
	"net/http"

	"github.com/toolsearch/toolsearch/provider"
)

const (
	// version is the API's version, a header that every request must carry.
	version = "2023-06-01"
	// defaultMaxTokens stands in for the limit that the API requires and other
	// APIs' requests leave out.
	defaultMaxTokens = 4096
)

// format is the one provider.Format of this package.
type format struct{}

var _ provider.Format = format{}

// Messages returns the format of Anthropic Messages.
func Messages() provider.Format { return format{} }

// API returns provider.Messages.
func (format) API() provider.API { return provider.Messages }

// Path returns "/v1/messages". The vendor prints its base URL without a version,
// as in https://api.anthropic.com; a client strips a "/v1" that ends a base URL
// before it appends the path.
func (format) Path() string { return "/v1/messages" }

// Authorize sets x-api-key, if there is a key, and anthropic-version, unless the
// caller has chosen one.
func (format) Authorize(h http.Header, key string) {
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	if h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", version)
	}
}
