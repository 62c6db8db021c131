package qa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/provider/mock"
)

// Evidence is what is known of one lane: what the provider received, and what
// the session log says.
type Evidence struct {
	Lane     Lane   `json:"lane"`
	Answer   string `json:"answer"`   // the model's, as the client got it
	Requests int    `json:"requests"` // to the provider
	Bytes    int    `json:"bytes"`    // of the first of them
	// Tools are the names of the tools in it, and Schemas those of the parameters
	// that they describe.
	Tools   []string `json:"-"`
	Schemas []string `json:"-"`
	System  string   `json:"-"` // the texts of its system messages
	// Batches are the numbers of queries in each call of tool_search, and Groups
	// those of the answers to each.
	Batches []int `json:"batches,omitempty"`
	Groups  []int `json:"groups,omitempty"`

	Log Log `json:"log"`
}

// Log is what the session log says.
type Log struct {
	Mode      string `json:"mode"`
	Schemas   int    `json:"schemasUpFront"`
	Catalog   int    `json:"catalogSize"`
	Searches  int    `json:"searches"`
	Describes int    `json:"describes"`
	Calls     []Call `json:"calls"`
}

// Call is a call of the session log.
type Call struct {
	Tool    string `json:"tool"`
	Source  string `json:"source"`
	Owner   string `json:"owner"`
	Control string `json:"control,omitempty"`
	Status  string `json:"status"`
}

// readProvider reads what the provider was sent.
func (e *Evidence) readProvider(requests []*mock.Exchange) error {
	if len(requests) == 0 {
		return errors.New("the provider received nothing")
	}
	first := requests[0]
	if first.Err != nil {
		return fmt.Errorf("the provider could not read the request: %w", first.Err)
	}
	e.Requests, e.Bytes = len(requests), len(first.Body)
	for _, t := range first.Request.Tools {
		e.Tools = append(e.Tools, t.Name)
		var s schema
		if json.Unmarshal(t.Parameters, &s) == nil {
			for name := range s.Properties {
				e.Schemas = append(e.Schemas, name)
			}
		}
	}
	slices.Sort(e.Schemas)
	var system []string
	for _, m := range first.Request.Messages {
		if m.Role != provider.System {
			continue
		}
		for _, b := range m.Blocks {
			system = append(system, b.Text)
		}
	}
	e.System = strings.Join(system, "\n")
	last := requests[len(requests)-1]
	if last.Request != nil {
		e.readBatches(last.Request.Messages)
	}
	return nil
}

// readBatches counts the queries of each search, and the groups of its answer.
func (e *Evidence) readBatches(messages []provider.Message) {
	searches := map[string]bool{}
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == provider.ToolCall && b.Call.Name == "tool_search":
				var args struct{ Queries []json.RawMessage }
				if json.Unmarshal(b.Call.Args, &args) == nil {
					e.Batches = append(e.Batches, len(args.Queries))
					searches[b.Call.ID] = true
				}
			case b.Kind == provider.ToolAnswer && searches[b.Answer.CallID]:
				var found struct{ Results []json.RawMessage }
				for _, c := range b.Answer.Content {
					_ = json.Unmarshal([]byte(c.Text), &found) // another text has no groups
				}
				e.Groups = append(e.Groups, len(found.Results))
			}
		}
	}
}

// readLog reads the session log. The gateway has ended.
func (e *Evidence) readLog(ctx context.Context, dir string) (err error) {
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return fmt.Errorf("read the session log: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	sessions, err := s.Sessions(ctx, store.Page{})
	if err != nil {
		return fmt.Errorf("read the session log: %w", err)
	}
	for _, session := range sessions {
		runs, err := s.Runs(ctx, session.ID)
		if err != nil {
			return fmt.Errorf("read the session log: %w", err)
		}
		for _, r := range runs {
			e.Log.Mode, e.Log.Schemas, e.Log.Catalog = r.Mode, r.Schemas, r.Catalog
			e.Log.Searches += r.Searches
			e.Log.Describes += r.Describes
		}
		err = s.Calls(ctx, session.ID, func(c store.Call) error {
			e.Log.Calls = append(e.Log.Calls, Call{string(c.Target), string(c.Source), c.Owner, c.Control, string(c.Status)})
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the session log: %w", err)
		}
	}
	return nil
}
