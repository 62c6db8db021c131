package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// Budgets of search answers, in characters of their JSON.
const (
	MaxSearchChars      = 16000 // one search
	MaxBatchChars       = 4000  // a batch of searches
	MaxBatchDescription = 180   // a description inside a batch
	MaxBatchQueries     = 16
	MaxBatchQueryChars  = 512 // one query of a batch
	MaxBatchQueryBytes  = 512 // all queries of a batch
	MaxBatchResults     = 50  // results asked for in all
)

// Limits are a run's search settings.
type Limits struct {
	Default int // results when the request names no limit, ≥ 1
	Max     int // most results of one search, 1–50
}

// Clamp returns the number of results to look for. A nil limit means the
// default; one above the maximum is capped.
func (l Limits) Clamp(limit *int) (int, error) {
	switch {
	case limit == nil:
		return l.Default, nil
	case *limit < 1:
		return 0, &tool.Error{
			Code:   tool.CodeInvalidInput,
			Reason: fmt.Sprintf("limit must be a positive integer, not %d", *limit),
			Next:   fmt.Sprintf("Leave it out for %d results, or pass 1 to %d.", l.Default, l.Max),
		}
	}
	return min(*limit, l.Max), nil
}

// Results answers one search.
type Results struct {
	Hits      []Hit
	Scores    []Score // one per hit, in the same order
	Total     int     // how many tools matched
	Weak      bool    // no hit is likely what was meant
	Truncated bool    // the size budget cut descriptions or hits
	Repairs   []rank.Repair
}

// Score says why a hit stands where it stands.
type Score struct {
	Value   float64       `json:"score"`
	Tier    rank.Tier     `json:"tier"`
	Weak    bool          `json:"weak"`
	Reasons []rank.Reason `json:"reasons,omitempty"`
}

// Search finds the tools that fit the query, best first. Nothing found is an
// empty list, never an arbitrary slice.
func (c *Catalog) Search(q rank.Query) Results {
	x := c.index()
	found := x.Search(q)
	r := Results{
		Hits:    make([]Hit, len(found.Hits)),
		Scores:  make([]Score, len(found.Hits)),
		Total:   found.Total,
		Weak:    found.Weak,
		Repairs: found.Repairs,
	}
	for i, h := range found.Hits {
		r.Hits[i] = c.Entry(x.tool(h.Doc))
		r.Scores[i] = Score{Value: h.Score, Tier: h.Tier, Weak: h.Weak, Reasons: h.Reasons}
	}
	r.fit(MaxSearchChars)
	return r
}

// Rank returns only the ids that Search would find, best first, without
// rendering them: what an evaluation needs.
func (c *Catalog) Rank(query string, limit int) []string {
	x := c.index()
	found := x.Search(rank.Query{Text: query, Limit: limit})
	ids := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		ids[i] = string(x.tool(h.Doc).ID)
	}
	return ids
}

// fit cuts the longest descriptions to one common length, and then drops hits
// from the end, until the hits as JSON have at most max characters.
func (r *Results) fit(max int) {
	total := encodedChars(r.Hits)
	if total <= max {
		return
	}
	r.Truncated = true
	descriptions := make([]measured, len(r.Hits))
	for i, h := range r.Hits {
		descriptions[i] = measure(h.Description)
	}
	low, high := 0, MaxSearchChars // the longest common length that fits
	for low < high {
		mid := (low + high + 1) / 2
		size := total
		for i := range descriptions {
			size -= descriptions[i].saved(mid)
		}
		if size <= max {
			low = mid
		} else {
			high = mid - 1
		}
	}
	// Under this length a description says nothing: fewer hits say more.
	const least = 80
	if low < least {
		low = least
	}
	r.Hits = cutDescriptions(r.Hits, low)
	for len(r.Hits) > 0 && encodedChars(r.Hits) > max {
		r.Hits = r.Hits[:len(r.Hits)-1]
		r.Scores = r.Scores[:len(r.Hits)]
	}
}

func cutDescriptions(hits []Hit, max int) []Hit {
	out := make([]Hit, len(hits))
	for i, h := range hits {
		h.Description, _ = tool.CutChars(h.Description, max)
		out[i] = h
	}
	return out
}

func encodedChars(v any) int {
	raw, err := tool.Encode(v)
	if err != nil { // hits are strings, which always marshal
		return 0
	}
	return tool.Chars(string(raw))
}

// Batch is a checked list of searches.
type Batch []BatchQuery

// BatchQuery is one entry of a batch.
type BatchQuery struct {
	Query string
	Limit int
}

// BatchResults answers a batch, in request order.
type BatchResults struct {
	Results   []BatchGroup `json:"results"`
	Truncated bool         `json:"truncated,omitempty"`
}

// BatchGroup answers one query of a batch.
type BatchGroup struct {
	Query      string `json:"query"`
	Candidates []Hit  `json:"candidates"`
	Truncated  bool   `json:"truncated,omitempty"`
}

// Check refuses a batch that breaks a bound, before anything is searched.
func (b Batch) Check() error {
	refuse := func(format string, args ...any) error {
		return &tool.Error{
			Code:   tool.CodeInvalidInput,
			Reason: fmt.Sprintf(format, args...),
			Next: fmt.Sprintf("Send 1 to %d queries, at most %d characters each and %d bytes together, asking for at most %d results in all.",
				MaxBatchQueries, MaxBatchQueryChars, MaxBatchQueryBytes, MaxBatchResults),
		}
	}
	if len(b) < 1 || len(b) > MaxBatchQueries {
		return refuse("queries has %d entries", len(b))
	}
	bytes, results := 0, 0
	for i, q := range b {
		if n := tool.Chars(q.Query); n > MaxBatchQueryChars {
			return refuse("queries[%d].query has %d characters", i, n)
		}
		bytes += len(q.Query)
		results += q.Limit
	}
	if bytes > MaxBatchQueryBytes {
		return refuse("the queries have %d bytes together", bytes)
	}
	if results > MaxBatchResults {
		return refuse("the queries ask for %d results in all", results)
	}
	return nil
}

// SearchBatch runs a batch that Check accepts.
func (c *Catalog) SearchBatch(b Batch) (BatchResults, error) {
	if err := b.Check(); err != nil {
		return BatchResults{}, err
	}
	x := c.index()
	out := BatchResults{Results: make([]BatchGroup, len(b))}
	for i, q := range b {
		g := BatchGroup{Query: q.Query, Candidates: []Hit{}}
		for _, h := range x.Search(rank.Query{Text: q.Query, Limit: q.Limit}).Hits {
			e := c.Entry(x.tool(h.Doc))
			cut := false
			if e.Description, cut = tool.CutChars(e.Description, MaxBatchDescription); cut {
				g.Truncated, out.Truncated = true, true
			}
			g.Candidates = append(g.Candidates, e)
		}
		out.Results[i] = g
	}
	out.fit()
	return out, nil
}

// fit drops the last candidate of the largest group until the answer is small
// enough. Each candidate is measured once: a batch may hold 50 of them, of which
// few fit.
func (r *BatchResults) fit() {
	total := encodedChars(r)
	if total <= MaxBatchChars {
		return
	}
	const mark = len(`,"truncated":true`)
	if !r.Truncated {
		r.Truncated = true
		total += mark
	}
	sizes, groups := make([][]int, len(r.Results)), make([]int, len(r.Results)) // with a comma each
	for i, g := range r.Results {
		for _, h := range g.Candidates {
			n := encodedChars(h) + len(",")
			sizes[i], groups[i] = append(sizes[i], n), groups[i]+n
		}
	}
	for total > MaxBatchChars {
		largest := 0
		for i, n := range groups {
			if n > groups[largest] {
				largest = i
			}
		}
		g, last := &r.Results[largest], len(r.Results[largest].Candidates)-1
		if last < 0 {
			return // only the queries are left, and Check bounds them
		}
		total -= sizes[largest][last]
		groups[largest] -= sizes[largest][last]
		if last == 0 {
			total += len(",") // the only one had none
		}
		if g.Candidates = g.Candidates[:last]; !g.Truncated {
			g.Truncated = true
			total += mark
		}
	}
}

// MarshalHits writes hits as a JSON array, [] when there are none.
func MarshalHits(hits []Hit) (json.RawMessage, error) {
	if len(hits) == 0 {
		return json.RawMessage("[]"), nil
	}
	return tool.Encode(hits)
}
