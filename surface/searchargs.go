package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/tool"
)

// searchRequest is what tool_search was asked: one query, or a batch.
type searchRequest struct {
	query string
	limit int
	batch catalog.Batch // nil for a single search
}

func readSearch(raw json.RawMessage, limits catalog.Limits) (searchRequest, error) {
	const next = "Pass {\"query\": \"what the tool should do\"}, or {\"queries\": [{\"query\": …}, …]}."
	var in struct {
		Query   json.RawMessage   `json:"query"`
		Limit   json.RawMessage   `json:"limit"`
		Queries []json.RawMessage `json:"queries"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return searchRequest{}, inputError(fmt.Sprintf("tool_search: cannot read the arguments: %v", err), next)
	}
	if in.Queries == nil && tool.Absent(in.Query) {
		return searchRequest{}, inputError("tool_search: query is missing", next)
	}
	if in.Queries == nil {
		q, err := readQuery("tool_search", in.Query, in.Limit, limits)
		return searchRequest{query: q.Query, limit: q.Limit}, err
	}
	var batch catalog.Batch
	if !tool.Absent(in.Query) {
		q, err := readQuery("tool_search", in.Query, in.Limit, limits)
		if err != nil {
			return searchRequest{}, err
		}
		batch = append(batch, q)
	}
	if n := len(in.Queries) + len(batch); n > catalog.MaxBatchQueries {
		batch = make(catalog.Batch, n) // Check refuses it by its length
		return searchRequest{}, batch.Check()
	}
	for i, raw := range in.Queries {
		q, err := readBatchEntry(fmt.Sprintf("tool_search: queries[%d]", i), raw, limits)
		if err != nil {
			return searchRequest{}, err
		}
		batch = append(batch, q)
	}
	return searchRequest{batch: batch}, batch.Check()
}

// readBatchEntry reads {query, limit?}, or a bare string.
func readBatchEntry(where string, raw json.RawMessage, limits catalog.Limits) (catalog.BatchQuery, error) {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		return readQuery(where, raw, nil, limits)
	}
	var in struct {
		Query json.RawMessage `json:"query"`
		Limit json.RawMessage `json:"limit"`
	}
	if err := json.Unmarshal(raw, &in); err != nil || tool.Absent(in.Query) {
		return catalog.BatchQuery{}, inputError(where+" must be {\"query\": …, \"limit\": …}", "Give each entry a query.")
	}
	return readQuery(where, in.Query, in.Limit, limits)
}

func readQuery(where string, query, limit json.RawMessage, limits catalog.Limits) (catalog.BatchQuery, error) {
	var q catalog.BatchQuery
	if err := json.Unmarshal(query, &q.Query); err != nil {
		return q, inputError(where+": query must be a string", "Describe the task in a few words.")
	}
	n, err := readLimit(where, limit)
	if err != nil {
		return q, err
	}
	q.Limit, err = limits.Clamp(n)
	return q, err
}

// readLimit reads an integer however JSON spells it (5, 5.0, 5e0); nil means
// absent.
func readLimit(where string, raw json.RawMessage) (*int, error) {
	if tool.Absent(raw) {
		return nil, nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f != math.Trunc(f) || f < 1 {
		return nil, inputError(
			fmt.Sprintf("%s: limit must be a positive integer, not %s", where, tool.Clean(string(raw), 40)),
			"Leave it out for the default.")
	}
	n := int(min(f, math.MaxInt32))
	return &n, nil
}

// readRef reads the reference of tool_describe.
func readRef(raw json.RawMessage) (string, error) {
	const next = "Pass {\"id\": \"…\"} with an id from tool_search."
	fields, err := readObject(raw)
	if err != nil {
		return "", inputError("tool_describe: "+err.Error(), next)
	}
	for _, key := range references {
		i := fields.Index(key)
		if i < 0 {
			continue
		}
		var ref string
		if json.Unmarshal(fields[i].Value, &ref) != nil || ref == "" {
			return "", inputError(fmt.Sprintf("tool_describe: %s must be a non-empty string", key), next)
		}
		return ref, nil
	}
	return "", inputError("tool_describe: id is missing", next)
}
