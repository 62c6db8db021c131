package agent

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/anthropic"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// Bounds of the tool search of a model API that we stand in for.
const (
	maxTools = anthropic.MaxSearchTools // of any request
	// patternTime and maxSteps bound what a pattern may cost. RE2 takes time in
	// proportion to the text times the pattern's states, of which 200 characters can
	// make 40,000. The clock is looked at before each description, and of one no more
	// is read than maxSteps allow: 100 kB with most patterns.
	patternTime = time.Second
	maxSteps    = 8 << 20
)

//go:embed search_bm25.md
var bm25Text string

//go:embed search_regex.md
var regexText string

// searchKind is a form of tool search that a model API has of its own.
type searchKind int

const (
	noSearch  searchKind = iota
	bm25                 // Messages
	regex                // Messages
	responses            // Responses' tool_search
)

// kindOf reads the type of an API's own tool, with or without the date.
func kindOf(hosted string) searchKind {
	if kind, ok := anthropic.SearchOf(hosted); ok {
		if kind == anthropic.SearchRegex {
			return regex
		}
		return bm25
	}
	if hosted == "tool_search" {
		return responses
	}
	return noSearch
}

// theirs is the kind in the words of Messages.
func (k searchKind) theirs() anthropic.SearchKind {
	if k == regex {
		return anthropic.SearchRegex
	}
	return anthropic.SearchBM25
}

// nativeSearch is how a request that brings a tool search of its own, or a model
// whose API has one, is served.
type nativeSearch struct {
	kind    searchKind // what we stand in for
	name    string     // of the search as the request calls it
	request *Request
	said    *said                    // by the request's messages
	tools   map[string]provider.Tool // of the request, by full name
	native  bool                     // the model's API searches by itself
	add     *provider.Tool           // the API's own search, where the request does not bring it
}

// readSearch finds out what is asked for.
func readSearch(req *Request, m Model) (*nativeSearch, error) {
	said := readSaid(req.Messages)
	if err := said.addTools(req); err != nil {
		return nil, err
	}
	if id := said.missing; id != "" && m.API != provider.Responses {
		return nil, refuse(http.StatusNotFound, "input", fmt.Sprintf("Item with id %q not found; send the item itself", tool.Clean(id, 128)))
	}
	s := &nativeSearch{request: req, said: said, tools: map[string]provider.Tool{}, native: m.NativeToolSearch}
	if len(req.Tools) > maxTools {
		return nil, tooManyTools(len(req.Tools))
	}
	foreign := false
	for _, t := range req.Tools {
		if t.Name != "" {
			s.tools[t.FullName()] = t
			continue
		}
		switch kind := kindOf(t.Hosted); {
		case kind != noSearch:
			s.kind, s.name = kind, searchName(t)
			foreign = t.API != m.API
			if kind == responses && execution(t) == "client" {
				return nil, refuse(http.StatusBadRequest, "tools", `tool_search with execution "client" is not served; leave execution out, and the search runs here`)
			}
		case t.API != m.API:
			return nil, refuse(http.StatusBadRequest, "tools", fmt.Sprintf("%q is a tool of another API than that of model %s; leave it out", tool.Clean(t.Hosted, 100), m.Ref()))
		}
	}
	if s.native {
		brought := s.kind != noSearch && !foreign
		s.kind = noSearch
		if brought {
			return s, nil // all of it is the API's business
		}
		s.add = hostedSearch(m.API)
	}
	for _, name := range said.references {
		if _, ok := s.tools[name]; !ok {
			return nil, refuse(http.StatusBadRequest, "messages", fmt.Sprintf("the messages refer to the tool %q, which tools does not define", tool.Clean(name, 128)))
		}
	}
	return s, nil
}

func tooManyTools(n int) *provider.Error {
	return refuse(http.StatusBadRequest, "tools", fmt.Sprintf("%d tools are more than the %d that are served", n, maxTools))
}

// hostedSearch is an API's own search tool; nil where it has none.
func hostedSearch(a provider.API) *provider.Tool {
	switch a {
	case provider.Messages:
		const hosted = "tool_search_tool_bm25_20251119"
		return &provider.Tool{Hosted: hosted, Native: provider.Native{API: a, Raw: json.RawMessage(`{"type":"` + hosted + `","name":"tool_search_tool_bm25"}`)}}
	case provider.Responses:
		return &provider.Tool{Hosted: "tool_search", Native: provider.Native{API: a, Raw: json.RawMessage(`{"type":"tool_search"}`)}}
	}
	return nil
}

func searchName(t provider.Tool) string {
	var body struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(t.Raw, &body) == nil && body.Name != "" {
		return body.Name
	}
	name, _, _ := strings.Cut(t.Hosted, "_20")
	return name
}

func execution(t provider.Tool) string {
	var body struct {
		Execution string `json:"execution"`
	}
	_ = json.Unmarshal(t.Raw, &body) // the format has read it before
	return body.Execution
}

// apply changes the options of a run accordingly.
func (s *nativeSearch) apply(o *turn.Options, session *toolsearch.Session) error {
	if s.native {
		o.Defer = o.Request.API != provider.Chat
		if s.add != nil {
			o.Request.Tools = append(withoutSearch(o.Request.Tools), *s.add)
		}
		return nil
	}
	o.Refer = func(_ context.Context, names []string) ([]provider.Tool, error) { return s.defined(names) }
	added, err := s.defined(s.said.references)
	if err != nil {
		return err
	}
	o.Added = added
	if s.kind == noSearch {
		return nil
	}
	// The caller brings a search of its own: ours is not shown beside it.
	o.Tools = uncontrolled{session}
	o.Request.Tools = withoutSearch(o.Request.Tools)
	o.Request.Messages = s.said.withoutSearch(s.request.Messages)
	o.Local = []turn.Local{{Tool: s.definition(), Call: func(ctx context.Context, c provider.Call) (turn.LocalAnswer, error) {
		return s.search(ctx, session, c)
	}}}
	return nil
}

func withoutSearch(tools []provider.Tool) []provider.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t provider.Tool) bool { return t.Name == "" && kindOf(t.Hosted) != noSearch })
}

// uncontrolled shows the tools of a session without our controls.
type uncontrolled struct{ *toolsearch.Session }

func (u uncontrolled) Visible() []surface.Visible {
	// A copy: what the session shows is the front of every turn of its conversation.
	return slices.DeleteFunc(slices.Clone(u.Session.Visible()), func(v surface.Visible) bool { return v.Tool == nil })
}

// defined returns tools of the request, as visible ones.
func (s *nativeSearch) defined(names []string) ([]provider.Tool, error) {
	var out []provider.Tool
	seen := make(map[string]struct{}, min(len(names), len(s.tools))) // an answer may name one many times
	for _, name := range names {
		if _, twice := seen[name]; twice {
			continue
		}
		seen[name] = struct{}{}
		t, ok := s.tools[name]
		if !ok {
			return nil, refuse(http.StatusBadRequest, "messages", fmt.Sprintf("the messages refer to the tool %q, which tools does not define", tool.Clean(name, 128)))
		}
		out = append(out, shown(t))
	}
	return out, nil
}

// shown is a tool that is no longer deferred.
func shown(t provider.Tool) provider.Tool {
	if t.Defer {
		t.Defer, t.Native = false, provider.Native{}
	}
	return t
}

// definition is the search as an ordinary tool of the model.
func (s *nativeSearch) definition() provider.Tool {
	text := bm25Text
	if s.kind == regex {
		text = regexText
	}
	return provider.Tool{
		Name: s.name, Description: strings.TrimSpace(text),
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
	}
}

// search answers one search: the tools it finds become visible, and the caller
// is told in the words of its API.
func (s *nativeSearch) search(ctx context.Context, session *toolsearch.Session, c provider.Call) (turn.LocalAnswer, error) {
	var args struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil || strings.TrimSpace(args.Query) == "" {
		return turn.LocalAnswer{}, &tool.Error{Code: tool.CodeInvalidInput, Reason: s.name + ": query must be a string that is not empty", Next: `Pass {"query": "…"}.`, Err: err}
	}
	view := session.View()
	if view == nil || view.Catalog == nil {
		return s.failed(c, anthropic.Unavailable, "there is nothing to search")
	}
	found, problem, why := s.find(ctx, view.Catalog, args.Query)
	if problem != "" {
		return s.failed(c, problem, why)
	}
	var names []string
	var theirs []provider.Tool
	out := turn.LocalAnswer{}
	for _, t := range found {
		names = append(names, surface.WireName(t, surface.ModelNameLimit))
		own, isClient := s.tools[t.Name]
		if t.Source == tool.Client && isClient {
			theirs = append(theirs, own)
			out.Add = append(out.Add, shown(own))
			continue
		}
		out.Add = append(out.Add, offered(t))
	}
	said := "No tool fits. Search again with other words."
	if len(names) > 0 {
		said = "These tools can be called now: " + strings.Join(names, ", ")
	}
	out.Answer.Content = []provider.Block{{Kind: provider.Text, Text: said}}
	var err error
	out.Emit, err = s.tell(c, theirs)
	return out, err
}

// find returns the tools that a query means, best first, or why it cannot.
func (s *nativeSearch) find(ctx context.Context, c *catalog.Catalog, query string) (found []*tool.Tool, problem anthropic.SearchFailure, why string) {
	if s.kind == regex {
		return match(ctx, c.Tools(), query)
	}
	for _, h := range c.Search(rank.Query{Text: query, Limit: anthropic.MaxReferences}).Hits {
		if t, err := c.Resolve(string(h.ID)); err == nil { // a hit is always in its catalog
			found = append(found, t)
		}
	}
	return found, "", ""
}

// match returns the first tools whose name or description a pattern matches.
func match(ctx context.Context, tools []*tool.Tool, pattern string) (found []*tool.Tool, problem anthropic.SearchFailure, why string) {
	if n := utf8.RuneCountInString(pattern); n > anthropic.MaxRegex {
		return nil, anthropic.InvalidToolInput, fmt.Sprintf("the pattern has %d characters, at most %d are taken", n, anthropic.MaxRegex)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, anthropic.InvalidToolInput, fmt.Sprintf("the pattern is no regular expression of RE2: %v", err)
	}
	states, err := statesOf(pattern)
	if err != nil {
		return nil, anthropic.InvalidToolInput, fmt.Sprintf("the pattern cannot be read: %v", err)
	}
	most := maxSteps / states // bytes of a description
	ctx, stop := context.WithTimeout(ctx, patternTime)
	defer stop()
	for _, t := range tools {
		if len(found) == anthropic.MaxReferences {
			break
		}
		if ctx.Err() != nil {
			return nil, anthropic.ExecutionTimeExceeded, "the pattern takes too long; search again with a simpler one"
		}
		if re.MatchString(t.Name) || re.MatchString(t.Description[:min(len(t.Description), most)]) {
			found = append(found, t)
		}
	}
	return found, "", ""
}

// statesOf is how large the program of a pattern is, at least 1.
func statesOf(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return max(1, len(prog.Inst)), nil
}

// failed tells model and caller that a search did not happen.
func (s *nativeSearch) failed(c provider.Call, code anthropic.SearchFailure, why string) (turn.LocalAnswer, error) {
	out := turn.LocalAnswer{Answer: provider.Answer{IsError: true, Content: []provider.Block{{Kind: provider.Text, Text: why}}}}
	if s.kind == responses {
		return out, nil // Responses has no words for it
	}
	id := anthropic.NewSearchID()
	asked, err := anthropic.SearchCall(id, s.kind.theirs(), c.Args)
	if err != nil {
		return out, err
	}
	failure, err := anthropic.SearchError(id, code, why)
	out.Emit = []provider.Block{asked, failure}
	return out, err
}

// tell says to the caller what a search found, in the words of its API.
func (s *nativeSearch) tell(c provider.Call, found []provider.Tool) ([]provider.Block, error) {
	if s.kind == responses {
		return tellResponses(c, found)
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = t.Name
	}
	id := anthropic.NewSearchID()
	asked, err := anthropic.SearchCall(id, s.kind.theirs(), c.Args)
	if err != nil {
		return nil, err
	}
	result, err := anthropic.SearchResult(id, names)
	return []provider.Block{asked, result}, err
}

// searchItem is an item of Responses that tells of a search.
type searchItem struct {
	Type      string             `json:"type"`
	ID        string             `json:"id"`
	Execution string             `json:"execution"`
	CallID    *string            `json:"call_id"` // null: the search ran here
	Status    string             `json:"status"`
	Arguments json.RawMessage    `json:"arguments,omitempty"`
	Tools     *[]json.RawMessage `json:"tools,omitempty"`
}

func tellResponses(c provider.Call, found []provider.Tool) ([]provider.Block, error) {
	tools := []json.RawMessage{}
	for _, t := range found {
		tools = append(tools, definitionOf(t))
	}
	var out []provider.Block
	for _, item := range []searchItem{
		{Type: "tool_search_call", ID: "tsc_" + rand.Text(), Execution: "server", Status: "completed", Arguments: c.Args},
		{Type: "tool_search_output", ID: "tso_" + rand.Text(), Execution: "server", Status: "completed", Tools: &tools},
	} {
		raw, err := tool.Encode(item)
		if err != nil {
			return nil, err
		}
		out = append(out, responsesItem(item.Type, raw))
	}
	return out, nil
}

func responsesItem(kind string, raw json.RawMessage) provider.Block {
	return provider.Block{Kind: provider.Opaque, Type: kind, Native: provider.Native{API: provider.Responses, Raw: raw}}
}

// definitionOf is a tool's definition as Responses writes it, inside its
// namespace.
func definitionOf(t provider.Tool) json.RawMessage {
	raw := t.For(provider.Responses)
	if t.Namespace == "" || len(t.Group) == 0 {
		return raw
	}
	group, err := tool.ReadObject(t.Group)
	if err != nil {
		return raw
	}
	list, err := tool.Encode([]json.RawMessage{raw})
	if err != nil {
		return raw
	}
	out, err := group.Set("tools", list).MarshalJSON()
	if err != nil {
		return raw
	}
	return out
}
