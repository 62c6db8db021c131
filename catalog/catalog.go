// Package catalog holds one run's tools as an immutable snapshot: search them,
// describe one, resolve a name to one, suggest what was meant.
//
// A Catalog is a value. It is built once from tools that policy has already
// filtered, never changes, and may be shared by every run with the same
// fingerprint. What is not in it does not exist: not for search, not for
// suggestions, not for calls.
package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/toolsearch/toolsearch/rank"
	"github.com/toolsearch/toolsearch/schema"
	"github.com/toolsearch/toolsearch/tool"
)

// Catalog is safe for concurrent use.
type Catalog struct {
	tools       []*tool.Tool // sorted by id bytes; the index's documents in this order
	direct      []*tool.Tool // visible tools, sorted by id bytes
	names       names        // of tools, or of those that base lacks
	base        *Catalog     // what it was extended from, or nil
	index       func() *index
	fingerprint func() string
	outages     []Outage
	sources     map[tool.Source]int // how many of its own tools are of each, without base's
	signatures  *sync.Map           // of its own tools, without base's: *tool.Tool → signature
	// indexing is held while a catalog that was extended from this one is indexed.
	indexing *sync.Mutex
}

// names finds tools by what they are called.
type names struct {
	byID   map[tool.ID]*tool.Tool
	exact  map[string][]*tool.Tool // by name
	folded map[string][]*tool.Tool // by tool.Normalize(name)
}

// add adds tools, which are in id order.
func (n *names) add(tools []*tool.Tool) error {
	n.byID = make(map[tool.ID]*tool.Tool, len(tools))
	n.exact = make(map[string][]*tool.Tool, len(tools))
	n.folded = make(map[string][]*tool.Tool, len(tools))
	for _, t := range tools {
		if _, twice := n.byID[t.ID]; twice {
			return sameID(t)
		}
		n.byID[t.ID] = t
		n.exact[t.Name] = append(n.exact[t.Name], t)
		f := tool.Normalize(t.Name)
		n.folded[f] = append(n.folded[f], t)
	}
	return nil
}

func sameID(t *tool.Tool) error {
	return fmt.Errorf("build catalog: two tools have the id %q; rename one of their owners", t.ID)
}

// Outage says why tools of one owner may be missing or stale. Only owners that
// the run may use are listed.
type Outage struct {
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	Stale  bool   `json:"stale"` // its last known tools are listed all the same
}

// Input is what a catalog is built from. Tools must be policy-filtered already.
type Input struct {
	Tools   []*tool.Tool // any order; direct-only tools are kept apart
	Outages []Outage
}

// Build makes a catalog. It fails when two tools have one id, since a call
// could then reach the wrong one, and when a tool is not complete.
func Build(in Input) (*Catalog, error) {
	c := &Catalog{outages: slices.Clone(in.Outages), signatures: &sync.Map{}, indexing: &sync.Mutex{}}
	var err error
	if c.tools, c.direct, err = split(in.Tools); err != nil {
		return nil, err
	}
	if err := c.names.add(c.tools); err != nil {
		return nil, err
	}
	c.sources = countSources(c.tools)
	for _, t := range c.direct {
		if _, twice := c.names.byID[t.ID]; twice {
			return nil, sameID(t)
		}
	}
	built, fingerprint := &index{Index: rank.Build(documents(c.tools)), first: c.tools}, Fingerprint(in.Tools)
	c.index = func() *index { return built }
	c.fingerprint = func() string { return fingerprint }
	return c, nil
}

// split checks tools and sorts them into those of the catalog and those that
// are visible.
func split(list []*tool.Tool) (tools, direct []*tool.Tool, err error) {
	for _, t := range list {
		switch {
		case t == nil || t.ID == "" || t.Name == "" || t.Input == nil:
			return nil, nil, fmt.Errorf("build catalog: tool %+v lacks an id, a name or an input schema", idOf(t))
		case t.Mode == tool.DirectOnly:
			direct = append(direct, t)
		default:
			tools = append(tools, t)
		}
	}
	sortByID(tools)
	sortByID(direct)
	return tools, direct, nil
}

func idOf(t *tool.Tool) string {
	if t == nil {
		return "<nil>"
	}
	return fmt.Sprintf("%q (name %q)", t.ID, t.Name)
}

func countSources(tools []*tool.Tool) map[tool.Source]int {
	n := map[tool.Source]int{}
	for _, t := range tools {
		n[t.Source]++
	}
	return n
}

func sortByID(tools []*tool.Tool) {
	slices.SortFunc(tools, func(a, b *tool.Tool) int { return strings.Compare(string(a.ID), string(b.ID)) })
}

// index is the search index, and the tools that its documents are.
type index struct {
	*rank.Index
	first, more []*tool.Tool
}

func (x *index) tool(doc int) *tool.Tool {
	if doc < len(x.first) {
		return x.first[doc]
	}
	return x.more[doc-len(x.first)]
}

func documents(tools []*tool.Tool) []rank.Document {
	docs := make([]rank.Document, len(tools))
	for i, t := range tools {
		docs[i] = document(t)
	}
	return docs
}

// document is what search may know of a tool. The schema of an untrusted
// source stays unread.
func document(t *tool.Tool) rank.Document {
	d := rank.Document{ID: string(t.ID), Name: t.Name}
	d.Text[rank.Name] = t.Name
	d.Text[rank.Label] = t.Label
	d.Text[rank.Description] = t.Description
	d.Text[rank.Hint] = t.SearchHint
	if t.Owner != tool.CoreOwner && t.Owner != tool.ClientOwner {
		d.Text[rank.Owner] = t.Owner
	}
	if t.SchemaTrusted() {
		names, descriptions := schema.Text(t.Input.JSON())
		d.Text[rank.Parameter] = names + "\n" + descriptions
	}
	return d
}

// Fingerprint identifies the tools that Build would catalog: same bytes, same
// tools. A tool's Revision stands for its whole definition, so that no schema
// is read; only a tool of a trusted source that has no Revision is read whole.
func Fingerprint(list []*tool.Tool) string {
	tools := slices.Clone(list)
	sortByID(tools)
	h := sha256.New()
	for _, t := range tools {
		writeField(h, string(t.ID), t.Revision, string(t.Mode))
		if t.Revision != "" {
			continue
		}
		writeField(h, string(t.Source), t.Owner, t.Name, t.Label, t.Description, t.SearchHint)
		if t.SchemaTrusted() {
			writeField(h, string(t.Input.JSON()))
			if t.Output != nil {
				writeField(h, string(t.Output.JSON()))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeField writes length-prefixed strings, so that no two lists collide.
func writeField(h hash.Hash, fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:]) // a hash never fails
		h.Write([]byte(f))
	}
}

// Tools returns the cataloged tools in id order. The slice must not be changed.
func (c *Catalog) Tools() []*tool.Tool { return c.tools }

// Direct returns the model-visible tools in id order. The slice must not be
// changed.
func (c *Catalog) Direct() []*tool.Tool { return c.direct }

// Len returns the number of cataloged tools.
func (c *Catalog) Len() int { return len(c.tools) }

// Sources counts the cataloged tools of each source.
func (c *Catalog) Sources() map[tool.Source]int {
	n := map[tool.Source]int{tool.OpenClaw: 0, tool.MCP: 0, tool.Client: 0}
	for ; c != nil; c = c.base {
		for source, some := range c.sources {
			n[source] += some
		}
	}
	return n
}

// Outages lists the owners that are down or stale.
func (c *Catalog) Outages() []Outage { return c.outages }

// WithOutages returns the same catalog with other outages. It shares the index.
func (c *Catalog) WithOutages(outages []Outage) *Catalog {
	other := *c
	other.outages = slices.Clone(outages)
	return &other
}

// Fingerprint identifies the catalog's content.
func (c *Catalog) Fingerprint() string { return c.fingerprint() }

// IndexBytes is the size of the search index in memory, without what it shares
// with that of a catalog it was extended from.
func (c *Catalog) IndexBytes() int64 { return c.index().Bytes() }
