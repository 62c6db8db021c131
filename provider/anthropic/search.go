package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// Limits of requests with native tool search, from the vendor's page on it.
const (
	MaxSearchTools    = 10_000 // tools of one request
	MaxSearchName     = 64     // characters of a tool's name
	MaxRegex          = 200    // characters of a regular expression
	MaxReferences     = 5      // tools that a search answers with
	searchToolPrefix  = "tool_search_tool_"
	serverToolsPrefix = "srvtoolu_"
)

// SearchKind is a variant of native tool search.
type SearchKind string

// The variants. As strings they are the names of the tools that a
// server_tool_use calls.
const (
	SearchBM25  SearchKind = "tool_search_tool_bm25"  // input {"query"}, in words
	SearchRegex SearchKind = "tool_search_tool_regex" // input {"query"}, a regular expression
)

// SearchOf tells which native tool search a hosted tool's type is: both are known
// with a date and without.
func SearchOf(hosted string) (kind SearchKind, ok bool) {
	if !strings.HasPrefix(hosted, searchToolPrefix) {
		return "", false
	}
	for _, kind := range []SearchKind{SearchBM25, SearchRegex} {
		rest, ok := strings.CutPrefix(hosted, string(kind))
		if ok && (rest == "" || isDate(rest)) {
			return kind, true
		}
	}
	return "", false
}

// isDate tells whether s is "_" and a day, such as "_20251119".
func isDate(s string) bool {
	day, ok := strings.CutPrefix(s, "_")
	return ok && len(day) == len("20251119") && strings.Trim(day, "0123456789") == ""
}

// SearchFailure is why a native tool search failed.
type SearchFailure string

// The failures that the API knows.
const (
	InvalidToolInput      SearchFailure = "invalid_tool_input"
	Unavailable           SearchFailure = "unavailable"
	TooManyRequests       SearchFailure = "too_many_requests"
	ExecutionTimeExceeded SearchFailure = "execution_time_exceeded"
)

// NewSearchID makes up the id of a search, which its result repeats.
func NewSearchID() string { return provider.NewID(serverToolsPrefix) }

// SearchCall is the server_tool_use block of a search. input is a JSON object,
// such as {"query":"weather"}.
func SearchCall(id string, kind SearchKind, input json.RawMessage) (provider.Block, error) {
	if first(input) != '{' || !json.Valid(input) {
		return provider.Block{}, fmt.Errorf("write a %s call: the input is not a JSON object", kind)
	}
	f := object("server_tool_use")
	f.set("id", id)
	f.set("name", string(kind))
	f.raw("input", input)
	return opaque(f)
}

// SearchResult is the tool_search_tool_result block that answers the search of
// that id with names of tools. The names are wire names of tools which the
// client's request defines: it will refer to them in its next request, where any
// other one is refused.
func SearchResult(callID string, names []string) (provider.Block, error) {
	refs := make([]json.RawMessage, 0, len(names))
	for _, name := range names {
		ref, err := reference(name)
		if err != nil {
			return provider.Block{}, err
		}
		refs = append(refs, ref)
	}
	content := object("tool_search_tool_search_result")
	content.raw("tool_references", tool.JoinArray(refs))
	return searchAnswer(callID, content)
}

// SearchError is the tool_search_tool_result block that says why the search of
// that id failed. message may be empty.
func SearchError(callID string, why SearchFailure, message string) (provider.Block, error) {
	content := object("tool_search_tool_result_error")
	content.set("error_code", string(why))
	if message != "" {
		content.set("error_message", message)
	} else {
		content.set("error_message", nil)
	}
	return searchAnswer(callID, content)
}

func searchAnswer(callID string, content *fields) (provider.Block, error) {
	raw, err := content.json()
	if err != nil {
		return provider.Block{}, err
	}
	f := object("tool_search_tool_result")
	f.set("tool_use_id", callID)
	f.raw("content", raw)
	return opaque(f)
}

func opaque(f *fields) (provider.Block, error) {
	raw, err := f.json()
	return provider.Block{Kind: provider.Opaque, Type: kindOf(f.out), Native: native(raw)}, err
}
