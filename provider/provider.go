// Package provider speaks to model APIs. It holds one conversation in words of
// its own, a Format for each wire format in all four directions (requests and
// responses, read and written, whole and streamed), and a Client that sends a
// request over HTTP.
//
// What one API says is kept as it came, and goes out byte for byte where the
// same API is spoken on the other side; only where the two differ is it put
// into the other's words. So nothing that this package does not know is lost
// on the way from a client to a provider of the same kind.
package provider

import (
	"context"
	"encoding/json"

	"github.com/toolsearch/toolsearch/tool"
)

// API names a wire format, in the words of models.providers.<name>.api.
type API string

// The three formats.
const (
	Chat      API = "openai-completions" // OpenAI Chat Completions
	Responses API = "openai-responses"   // OpenAI Responses
	Messages  API = "anthropic-messages" // Anthropic Messages
)

// Role says who speaks.
type Role string

// Roles. What a tool answered is a block of a User message in every format.
const (
	System    Role = "system" // also OpenAI's "developer"
	User      Role = "user"
	Assistant Role = "assistant"
)

// BlockKind says what a block holds.
type BlockKind int

// Block kinds.
const (
	Text     BlockKind = iota + 1
	Image              // Data and MIMEType, or URL
	Thinking           // Text; providers check its signature, which is in Raw
	ToolCall           // Call
	ToolAnswer
	Opaque // known only to the API that Raw comes from; left out for others
)

// Block is one part of a message.
type Block struct {
	Kind   BlockKind
	Type   string // of an Opaque block as it was decoded, in its API's words
	Text   string
	Image  ImageData
	Call   Call
	Answer Answer
	Native
}

// ImageData is a picture, by its bytes in base64 or by its address.
type ImageData struct{ MIMEType, Data, URL string }

// Call is a model's wish to call a tool.
type Call struct {
	ID   string // never empty once decoded: one is made up where a model gave none
	Name string // as on the wire
	// Namespace is the namespace of Responses that the tool stands in, or "".
	Namespace string
	// Args are what the model wrote: an object where that is what it meant (also
	// when it came as an object, doubly encoded, or empty), and otherwise a JSON
	// string of the text that is not one. It is always valid JSON.
	Args json.RawMessage
}

// Answer is what a tool answered to a call.
type Answer struct {
	CallID  string
	Content []Block // texts, images, and what is Opaque
	IsError bool
	// References are names of tools that the answer refers to (Anthropic's
	// tool_reference): they become visible to the model.
	References []string
}

// Native is a piece as one API wrote it. It is used only where the same API is
// spoken.
type Native struct {
	API API
	Raw json.RawMessage
}

// For returns the bytes if they are of that API, and else nil.
func (n Native) For(a API) json.RawMessage {
	if n.API == a {
		return n.Raw
	}
	return nil
}

// Message is one entry of a conversation: a message of Chat and Messages, an
// item of Responses. Neighbours of one role are joined where a format wants it.
type Message struct {
	Role   Role
	Blocks []Block
	Native
}

// Tool is a tool as a request offers it to a model.
type Tool struct {
	Name        string // "" for an API's own tool, such as a web search; see Hosted
	Description string
	Parameters  json.RawMessage
	Strict      bool
	Defer       bool // defer_loading
	// Hosted is the type of an API's own tool ("web_search_preview",
	// "tool_search_tool_bm25_20251119", "tool_search"), "" for a function.
	Hosted string
	// Namespace is the namespace of Responses that the tool stands in, or "".
	Namespace string
	// Group is that namespace as it came but for its tools, which are null in it.
	Group json.RawMessage
	Native
}

// ToolChoice says whether the model must call a tool.
type ToolChoice string

// Tool choices. Any other value is the name of the one tool to call, after "=".
const (
	ChooseAuto ToolChoice = "" // also when the request says nothing
	ChooseNone ToolChoice = "none"
	ChooseAny  ToolChoice = "any" // "required" in OpenAI's words
)

// ChooseTool is the choice of one tool.
func ChooseTool(name string) ToolChoice { return ToolChoice("=" + name) }

// Params are the settings that all formats share, in neutral words. Zero means
// not said.
type Params struct {
	MaxTokens   int
	Temperature *float64
	TopP        *float64
	Stop        []string
	Choice      ToolChoice
	// Allowed are names of functions; where there are some, the model may call no
	// others. It is OpenAI's allowed_tools, which Messages has no word for.
	Allowed []string
	// Parallel is nil when the request says nothing of parallel calls.
	Parallel *bool
}

// Request is one request to a model.
type Request struct {
	Model    string
	Messages []Message // System ones first; Anthropic's system is one of them
	Tools    []Tool
	Params   Params
	Stream   bool
	// API and Fields are every top-level member of the request as it came, except
	// the model, messages (input, instructions, system), tools and stream. They are
	// written to the same API as they are; to another one, Params are.
	API    API
	Fields tool.Object
	// Previous is Responses' previous_response_id.
	Previous string
}

// Stop says why a model ended.
type Stop string

// Stop reasons.
const (
	StopEnd    Stop = "end"
	StopCalls  Stop = "calls"  // also when a model said another reason and yet calls
	StopLength Stop = "length" // the token limit
	StopFilter Stop = "filter" // refused, or a content filter
)

// Usage are token counts. Zero means not said.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Response is what a model answered.
type Response struct {
	ID     string
	Model  string
	Output []Message // all Assistant
	Stop   Stop
	Usage  Usage
	// API and Fields are the other top-level members as they came.
	API    API
	Fields tool.Object
}

// Calls lists the calls of the response, in order.
func (r *Response) Calls() []Call {
	var out []Call
	for _, m := range r.Output {
		for _, b := range m.Blocks {
			if b.Kind == ToolCall {
				out = append(out, b.Call)
			}
		}
	}
	return out
}

// Text joins the texts of the response.
func (r *Response) Text() string {
	var out string
	for _, m := range r.Output {
		for _, b := range m.Blocks {
			if b.Kind == Text {
				out += b.Text
			}
		}
	}
	return out
}

// EventKind says what an Event of a stream is.
type EventKind int

// Event kinds.
const (
	// TextDelta is a piece of text.
	TextDelta EventKind = iota + 1
	// ThinkingDelta is a piece of a thought.
	ThinkingDelta
	// BlockDone is a block that is complete: a call, a thought with its signature,
	// or something Opaque. Texts come as deltas only.
	BlockDone
)

// Event is one thing that a stream tells before its end.
type Event struct {
	Kind  EventKind
	Text  string
	Block Block
}

// Model answers requests. *Client is one.
type Model interface {
	// Generate runs one round. With r.Stream, emit is called for each event as it
	// arrives, in order and from one goroutine; an error of emit ends the round and
	// is returned. emit may be nil. An *Error is what the API itself refused.
	Generate(ctx context.Context, r *Request, emit func(Event) error) (*Response, error)
}
