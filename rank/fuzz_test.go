package rank_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/rank"
)

// FuzzSearch feeds any bytes as query and as document. It must not panic, must
// answer the same twice and from an index built anew, and must keep the order
// of the contract.
func FuzzSearch(f *testing.F) {
	for _, seed := range [][2]string{
		{"scheduling a task", "Schedule a recurring task"},
		{"getOAuthURLs k8s's don’t", "parseHTTPServer2 OAuth"},
		{"価格 ファイル ไฟล์ 한국어", "価格を調べる"},
		{"\xff\xfe \x00 a\u0301\u0300", "\xc3\x28"},
		{"1 2 3 10:30 2024-01-01 a@b.c http://x /y $5", "date"},
		{"the and with", "do"},
		{strings.Repeat("AaBb1", 40), strings.Repeat("x", 100)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		docs := []rank.Document{
			doc("fuzzed", text), doc(text, query), doc("search", "Search the web"), doc("read_file", "Read a file"),
			doc("task_delete", "Delete a message by email"),
		}
		x := rank.Build(docs)
		q := rank.Query{Text: query, Limit: 10, Explain: true}
		r := x.Search(q)
		if again := x.Search(q); !reflect.DeepEqual(r, again) {
			t.Fatalf("two answers to %q:\n%+v\n%+v", query, r, again)
		}
		if anew := rank.Build(docs).Search(q); !reflect.DeepEqual(r, anew) {
			t.Fatalf("two indexes answer %q differently:\n%+v\n%+v", query, r, anew)
		}
		checkOrder(t, docs, r)
		for _, rep := range r.Repairs {
			if utf8.ValidString(query) && !utf8.ValidString(rep.Read) {
				t.Errorf("repair %q is not UTF-8", rep.Read)
			}
		}
		x.Suggest(query, 3)
	})
}

// checkOrder checks tier › score › id, and that each hit's reasons bear its
// tier out.
func checkOrder(t *testing.T, docs []rank.Document, r rank.Result) {
	t.Helper()
	seen := map[int]bool{}
	for i, h := range r.Hits {
		if seen[h.Doc] {
			t.Fatalf("document %d twice in %+v", h.Doc, r.Hits)
		}
		seen[h.Doc] = true
		best := rank.Added
		for _, reason := range h.Reasons {
			best = max(best, reason.Tier)
		}
		if h.Tier < rank.Exact && h.Tier != best {
			t.Errorf("tier %v of %+v, reasons say %v", h.Tier, h, best)
		}
		if i == 0 {
			continue
		}
		p := r.Hits[i-1]
		if p.Tier < h.Tier {
			t.Errorf("tier %v after %v", h.Tier, p.Tier)
		}
		if p.Tier == h.Tier && p.Tier != rank.Exact && (p.Score < h.Score || p.Score == h.Score && docs[p.Doc].ID > docs[h.Doc].ID) {
			t.Errorf("hit %+v after %+v", h, p)
		}
	}
	if r.Total < len(r.Hits) {
		t.Errorf("total %d of %d hits", r.Total, len(r.Hits))
	}
}
