package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Format is one wire format. It is stateless and safe for concurrent use.
type Format interface {
	API() API
	// Path is where requests go, below a base URL as vendors print it.
	Path() string
	// Authorize sets the headers that carry a key, and those the API requires.
	Authorize(h http.Header, key string)

	// EncodeRequest and DecodeResponse are the client's side.
	EncodeRequest(r *Request) ([]byte, error)
	DecodeResponse(body []byte) (*Response, error)
	NewStreamDecoder() StreamDecoder

	// DecodeRequest and EncodeResponse are the server's side. A request that is
	// wrong is an *Error with status 400 that names the field.
	DecodeRequest(body []byte) (*Request, error)
	EncodeResponse(r *Response) ([]byte, error)
	// NewStreamEncoder writes server-sent events to w; head has ID and Model. It
	// does not flush: the caller does, after each call.
	NewStreamEncoder(w io.Writer, head Response, req *Request) StreamEncoder

	// EncodeError writes an error in the API's own words.
	EncodeError(e *Error) []byte
	// DecodeError reads a body that came with an HTTP status of 400 or above.
	DecodeError(status int, body []byte) *Error
}

// Frame is one server-sent event.
type Frame struct {
	Event string // "" when the stream names none
	Data  []byte
}

// StreamDecoder reads the frames of one stream.
type StreamDecoder interface {
	// Frame reads one frame, and returns what it tells.
	Frame(f Frame) ([]Event, error)
	// Response returns the whole answer after the last frame. A stream that was
	// cut is an error, ErrCut where the format cannot say more.
	Response() (*Response, error)
}

// StreamEncoder writes the frames of one stream.
type StreamEncoder interface {
	Event(e Event) error
	// Finish writes what r has beyond the events written before (its calls, its
	// usage, why it ended), and the end of the stream.
	Finish(r *Response) error
	// Fail ends the stream with an error.
	Fail(e *Error) error
	// KeepAlive writes something that clients ignore.
	KeepAlive() error
}

// MaxErrorBody bounds what is kept of an error's answer, in bytes.
const MaxErrorBody = 64 << 10

// Error is a refusal of a model API, or one of ours in its place.
type Error struct {
	Status  int    // of HTTP; 0 when the error came inside a stream
	Type    string // in the API's own words, such as "rate_limit_error"
	Code    string // OpenAI's code, such as "invalid_api_key"
	Param   string // OpenAI's param: the field that is wrong
	Message string
	// Details are Anthropic's details of an error of ours: what a client's program
	// can act on, a JSON object. nil is none.
	Details json.RawMessage
	// Body is the answer as it came, at most MaxErrorBody; nil for an error of ours.
	Body       []byte
	API        API           // of Body
	RetryAfter time.Duration // what the API asked to wait; 0 when it said nothing
}

// Error returns the status and the message; of an error of ours, the message.
func (e *Error) Error() string {
	switch {
	case e.Body == nil && (e.Status != 0 || e.API == "") && e.Message != "":
		return e.Message
	case e.Status == 0:
		return fmt.Sprintf("the model API reported an error: %s", e.Message)
	case e.Message == "":
		return fmt.Sprintf("the model API answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the model API answered %d: %s", e.Status, e.Message)
}
