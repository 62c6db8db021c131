package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// listing is what tools/list brought.
type listing struct {
	defs   []json.RawMessage
	notice string // what was cut and why, "" when the list is whole
}

// list reads all pages of tools/list, within the bounds of the options. A list
// that breaks a bound is cut and says so; one that fails at its first page is
// an error.
func (sess *session) list(ctx context.Context) (*listing, error) {
	opt := &sess.srv.m.opt
	out := &listing{}
	seen := map[string]bool{}
	cursor, bytes := "", 0
	for page := 1; ; page++ {
		defs, next, err := sess.page(ctx, cursor)
		if err != nil {
			return nil, fmt.Errorf("read page %d of its tools: %w", page, err)
		}
		for _, def := range defs {
			bytes += len(def)
			switch {
			case len(out.defs) >= opt.MaxTools:
				out.notice = fmt.Sprintf("its list was cut: it offers more than the limit of %d tools", opt.MaxTools)
			case bytes > opt.MaxListBytes:
				out.notice = fmt.Sprintf("its list was cut after %d tools: their definitions exceed the limit of %d bytes", len(out.defs), opt.MaxListBytes)
			}
			if out.notice != "" {
				return out, nil
			}
			out.defs = append(out.defs, def)
		}
		if next == "" {
			return out, nil
		}
		switch {
		case seen[next]:
			out.notice = fmt.Sprintf("its list was cut after %d tools: page %d repeats the cursor %q, so the list never ends", len(out.defs), page, sampleOf([]byte(next)))
			return out, nil
		case page >= opt.MaxPages:
			out.notice = fmt.Sprintf("its list was cut after %d tools: it has more than the limit of %d pages", len(out.defs), opt.MaxPages)
			return out, nil
		}
		seen[next] = true
		cursor = next
	}
}

func (sess *session) page(ctx context.Context, cursor string) (defs []json.RawMessage, next string, err error) {
	x := &exchange{method: methodList}
	defer sess.traffic.forget(x)
	_, err = sess.cs.ListTools(withExchange(ctx, x), &sdk.ListToolsParams{Cursor: cursor})
	raw, lost := x.result()
	if raw == nil {
		if lost != nil {
			err = lost
		}
		if err == nil {
			err = fmt.Errorf("the answer has no result")
		}
		return nil, "", err
	}
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("the answer is no list of tools: %w", err)
	}
	return page.Tools, page.NextCursor, nil
}

// buildTools turns a listing into tools and gathers what to report.
func (s *server) buildTools(l *listing) (*toolSet, string) {
	set := newToolSet(s)
	for _, def := range l.defs {
		set.add(def)
	}
	notices := set.notices()
	if l.notice != "" {
		notices = append([]string{s.redact.text(l.notice)}, notices...)
	}
	return set, strings.Join(notices, "; ")
}
