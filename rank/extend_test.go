package rank_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/rank"
)

// someDocs are the base of what the tests extend.
func someDocs() []rank.Document {
	docs := []rank.Document{
		doc("translate_text", "Translate a text into another language"), doc("repository_clone", "Clone a repository"),
		doc("web_search", "Search the web"), doc("mail_send", "Send a mail"),
	}
	for i := range 60 {
		docs = append(docs, doc(fmt.Sprintf("filler_%d", i), fmt.Sprintf("Does thing %d of a kind", i)))
	}
	return docs
}

// An index that was extended answers as one that was built of all documents, for
// every kind of match on either side.
func TestExtend(t *testing.T) {
	base := someDocs()
	more := []rank.Document{
		doc("grab_webhook", "Listen for a webhook of a zeppelin"), doc("Mail-Send", "Send a mail through the terminal"),
		doc("translation_list", "List the translations of a text"), doc("database_drop", "Drop a table of the database"),
	}
	first := rank.Build(base)
	x, ok := first.Extend(more)
	if !ok {
		t.Fatal("64 documents cannot be extended by 4")
	}
	all := slices.Concat(base, more)
	built := rank.Build(all)
	queries := []string{
		"translate", "translations", "zeppelin", "zepelin", "zeppelins", "clone the repositroy", "repo", "db", "web hook", "webhook",
		"send a mail", "mail_send", "MAIL SEND", "Mail-Send", "drop table", "thing 7", "look up the price of gold", "list the planets", "xyzzy", "",
		"dataabse", "terminal", "translate a text, and then send it by mail",
	}
	for range 2 { // the second time with scratch space that the other index has used
		for _, query := range queries {
			q := rank.Query{Text: query, Limit: 8, Explain: true}
			got, want := x.Search(q), built.Search(q)
			if got.Total != want.Total || got.Weak != want.Weak || !slices.Equal(got.Repairs, want.Repairs) || len(got.Hits) != len(want.Hits) {
				t.Errorf("search(%q): %+v, want %+v", query, got, want)
				continue
			}
			for i, h := range got.Hits {
				w := want.Hits[i]
				added := h.Doc >= len(base)
				if h.Doc != w.Doc || h.Tier != w.Tier || h.Weak != w.Weak || added && math.Abs(h.Score-w.Score) > 0.05*w.Score || !slices.EqualFunc(h.Reasons, w.Reasons, sameReason) {
					t.Errorf("search(%q): hit %d is %+v, want %+v", query, i, h, w)
				}
			}
			if before := first.Search(q); len(before.Hits) > 0 && before.Hits[len(before.Hits)-1].Doc >= len(base) {
				t.Errorf("search(%q): the base finds %+v", query, before)
			}
		}
		for _, name := range []string{"mail_sent", "grab_webhok", "list_translation", "database-drp", "nothing"} {
			if got, want := x.Suggest(name, 3), built.Suggest(name, 3); !slices.Equal(got, want) {
				t.Errorf("suggest(%q) = %v, want %v", name, got, want)
			}
		}
	}
}

func sameReason(a, b rank.Reason) bool {
	return a.Term == b.Term && a.Typed == b.Typed && a.Why == b.Why && a.Tier == b.Tier && slices.Equal(a.Fields, b.Fields)
}

func TestExtendRefuses(t *testing.T) {
	x := rank.Build(someDocs())
	owned := doc("a", "b")
	owned.Text[rank.Owner] = "someone"
	for what, more := range map[string][]rank.Document{
		"more than a 16th":  {doc("a", "b"), doc("b", "c"), doc("c", "d"), doc("d", "e"), doc("e", "f")},
		"one with an owner": {owned},
	} {
		if _, ok := x.Extend(more); ok {
			t.Errorf("%s: extended", what)
		}
	}
	once, ok := x.Extend([]rank.Document{doc("a", "b")})
	if !ok {
		t.Fatal("not extended by one")
	}
	if _, ok := once.Extend([]rank.Document{doc("b", "c")}); ok {
		t.Error("extended twice")
	}
}

// Over some 6,600 documents and real queries an extended index answers as one
// that was built of all does.
func TestExtendBigSet(t *testing.T) {
	docs, queries := bigSet(t)
	var base, more []rank.Document
	for i, d := range docs {
		if i%331 == 7 {
			d.Text[rank.Owner] = ""
			more = append(more, d)
		} else {
			base = append(base, d)
		}
	}
	built := rank.Build(slices.Concat(base, more))
	x, ok := rank.Build(base).Extend(more)
	if !ok {
		t.Fatal("not extended")
	}
	same, total, found := 0, 0, 0
	for _, text := range queries {
		q := rank.Query{Text: text, Limit: 8}
		got, want := x.Search(q).Hits, built.Search(q).Hits
		total += len(want)
		for _, h := range got {
			if h.Doc >= len(base) {
				found++
			}
			if slices.ContainsFunc(want, func(w rank.Hit) bool { return w.Doc == h.Doc && w.Tier == h.Tier }) {
				same++
			}
		}
	}
	if total == 0 || float64(same) < 0.995*float64(total) {
		t.Errorf("%d of %d hits are those of an index that was built of all", same, total)
	}
	t.Logf("%d of %d hits are the same, %d of what was added", same, total, found)
}

// BenchmarkExtend compares adding five documents to some 6,600 with building an
// index of all.
func BenchmarkExtend(b *testing.B) {
	docs, queries := bigSet(b)
	base := rank.Build(docs)
	more := make([]rank.Document, 5)
	for i := range more {
		more[i] = docs[i*1000]
		more[i].ID, more[i].Text[rank.Owner] = fmt.Sprint("added ", i), ""
	}
	all := slices.Concat(docs, more)
	var x *rank.Index
	extend := func() { x, _ = base.Extend(more) }
	build := func() { rank.Build(all) }
	for b.Loop() {
		extend()
	}
	added, built := medianOf(9, extend), medianOf(5, build)
	b.ReportMetric(float64(added)/1e3, "extend-µs")
	b.ReportMetric(float64(built)/float64(added), "build/extend")
	b.ReportMetric(float64(x.Bytes())/1e3, "KB")
	search := func(x *rank.Index) func() {
		n := 0
		return func() {
			x.Search(rank.Query{Text: queries[n%len(queries)], Limit: 8})
			n++
		}
	}
	b.ReportMetric(float64(medianOf(2000, search(x)))/float64(medianOf(2000, search(base))), "search-extended/base")
}

func medianOf(n int, f func()) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		f()
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[n/2]
}
