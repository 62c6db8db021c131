package catalog_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/tool"
)

// A catalog that was extended answers as one that was built of all the tools.
func TestExtend(t *testing.T) {
	mail := newTool(tool.MCP, "mail", "send_message", "Send a mail to somebody")
	files := newTool(tool.OpenClaw, "files", "read", "Read a file")
	shell := newTool(tool.OpenClaw, "core", "shell", "Run a command")
	shell.Mode = tool.DirectOnly
	chat := newTool(tool.Client, tool.ClientOwner, "send-message", "Send a message to a chat")
	read := newTool(tool.Client, tool.ClientOwner, "read", "Read a page of the web")
	pinned := newTool(tool.Client, tool.ClientOwner, "ask", "Ask the user")
	pinned.Mode = tool.DirectOnly
	first, others := []*tool.Tool{mail, files, shell}, []*tool.Tool{read, pinned, chat}
	want := build(t, slices.Concat(first, others)...)
	got, err := build(t, first...).Extend(others)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint() != want.Fingerprint() || got.Len() != 4 {
		t.Errorf("%q with %d tools, want %q with %d", got.Fingerprint(), got.Len(), want.Fingerprint(), want.Len())
	}
	for _, list := range [2]func(*catalog.Catalog) []*tool.Tool{(*catalog.Catalog).Tools, (*catalog.Catalog).Direct} {
		if !slices.Equal(list(got), list(want)) {
			t.Errorf("the tools are %v, want %v", list(got), list(want))
		}
	}
	for _, query := range []string{"send a message", "read", "mail", "web", "nothing of it", "shell"} {
		q := rank.Query{Text: query, Limit: 8, Explain: true}
		if diff := cmp.Diff(want.Search(q), got.Search(q)); diff != "" {
			t.Errorf("search %q: %s", query, diff)
		}
	}
	for _, ref := range []string{"read", "send_message", "send-message", "SEND.MESSAGE", "Read", "shell", "ask", "reed", string(chat.ID), string(mail.ID), string(pinned.ID)} {
		a, errA := want.Resolve(ref)
		b, errB := got.Resolve(ref)
		if a != b || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("%q is %v (%v), want %v (%v)", ref, b, errB, a, errA)
		}
	}
	if len(got.Named("read")) == 0 || len(got.Named("send-message")) == 0 || len(got.Named("Read")) > 0 || len(got.Named("shell")) > 0 {
		t.Error("Named does not go by the exact names of cataloged tools")
	}
	if diff := cmp.Diff(want.Sources(), got.Sources()); diff != "" {
		t.Errorf("the counts of the sources: %s", diff)
	}
}

// A few tools beside many are found as if all had been indexed together.
func TestExtendMany(t *testing.T) {
	var first []*tool.Tool
	for i := range 64 {
		first = append(first, newTool(tool.MCP, "zoo", fmt.Sprintf("feed_%d", i), fmt.Sprintf("Feed animal %d", i)))
	}
	others := []*tool.Tool{newTool(tool.Client, tool.ClientOwner, "read_page", "Read a page of a book"), newTool(tool.Client, tool.ClientOwner, "feed_cat", "Feed the cat at home")}
	want := build(t, slices.Concat(first, others)...)
	got, err := build(t, first...).Extend(others)
	if err != nil {
		t.Fatal(err)
	}
	if got.IndexBytes() >= want.IndexBytes()/2 {
		t.Errorf("the index of two more tools takes %d bytes, that of all %d", got.IndexBytes(), want.IndexBytes())
	}
	for _, query := range []string{"read a page", "the book", "cat at home", "feed_cat", "feed_63", "animal 7"} {
		// Behind the first, what all but a few tools match is a tie.
		if diff := cmp.Diff(want.Rank(query, 1), got.Rank(query, 1)); diff != "" {
			t.Errorf("rank %q: %s", query, diff)
		}
		q := rank.Query{Text: query, Limit: 1}
		if diff := cmp.Diff(want.Search(q).Hits, got.Search(q).Hits); diff != "" {
			t.Errorf("search %q: %s", query, diff)
		}
		a, errA := want.SearchBatch(catalog.Batch{{Query: query, Limit: 1}})
		b, errB := got.SearchBatch(catalog.Batch{{Query: query, Limit: 1}})
		if diff := cmp.Diff(a, b); diff != "" || errA != nil || errB != nil {
			t.Errorf("batch of %q: %s, %v, %v", query, diff, errA, errB)
		}
	}
	for _, ref := range []string{"read_pge", "feed_cta", "feed_6x"} {
		_, errA := want.Resolve(ref)
		_, errB := got.Resolve(ref)
		if fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("%q: %v, want %v", ref, errB, errA)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	read := newTool(tool.OpenClaw, "files", "read", "Read a file")
	visible := newTool(tool.OpenClaw, "files", "write", "Write a file")
	visible.Mode = tool.DirectOnly
	base := build(t, read, visible)
	direct, cataloged := *read, *visible
	direct.Mode, cataloged.Mode = tool.DirectOnly, tool.Cataloged
	for name, others := range map[string][]*tool.Tool{
		"cataloged twice":      {read},
		"cataloged, direct":    {&direct},
		"direct, cataloged":    {&cataloged},
		"twice among the rest": {newTool(tool.Client, "c", "x", ""), newTool(tool.Client, "c", "x", "")},
		"incomplete":           {{ID: "x"}},
	} {
		if _, err := base.Extend(others); err == nil {
			t.Errorf("%s: extended", name)
		}
	}
	if c, err := base.Extend(nil); c != base || err != nil {
		t.Errorf("extended by nothing: %v, %v", c, err)
	}
}

// Many may search extended catalogs at one time.
func TestExtendConcurrently(t *testing.T) {
	base := build(t, newTool(tool.MCP, "mail", "send", "Send a mail"))
	var work sync.WaitGroup
	for i := range 8 {
		c, err := base.Extend([]*tool.Tool{newTool(tool.Client, tool.ClientOwner, fmt.Sprint("tool", i), "Post a letter")})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			work.Go(func() {
				if got := ids(search(c, "letter")); len(got) != 1 {
					t.Errorf("found %v", got)
				}
			})
		}
	}
	work.Wait()
}
