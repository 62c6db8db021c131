// Package tool is the vocabulary of the program: what a tool is, where it comes
// from, what a call and its result look like, and the errors a model may read.
// It imports nothing of the program, and everything else imports it.
package tool

import (
	"context"
	"encoding/json"
	"strings"
)

// Source says where a tool comes from, and so how far its texts are trusted.
type Source string

// The three sources of the contract.
const (
	OpenClaw Source = "openclaw" // core tools and installed plugins: trusted
	MCP      Source = "mcp"      // an MCP server: untrusted
	Client   Source = "client"   // supplied by the caller of one run: untrusted
)

// Trusted reports whether tools of this source may have their schemas walked
// and their names printed into a prompt.
func (s Source) Trusted() bool { return s == OpenClaw }

// Valid reports whether s is one of the three sources.
func (s Source) Valid() bool { return s == OpenClaw || s == MCP || s == Client }

// Owners with a fixed name.
const (
	CoreOwner   = "core"   // the product's own tools
	ClientOwner = "client" // the caller of one run
)

// ID identifies a tool inside one catalog. It is opaque: it is compared and
// printed, never taken apart.
type ID string

// NewID returns the canonical id, source:owner:name.
func NewID(source Source, owner, name string) ID {
	return ID(string(source) + ":" + owner + ":" + name)
}

// CatalogMode says where a tool may be shown.
type CatalogMode string

// Catalog modes. The zero value is Cataloged.
const (
	Cataloged  CatalogMode = ""            // hidden behind search when a catalog exists
	DirectOnly CatalogMode = "direct-only" // always model-visible, never in the catalog
)

// Schema is a JSON Schema that is read only when somebody asks for its bytes.
// Search, hits and fingerprints never call JSON on an untrusted tool's schema.
// JSON must be safe for concurrent use, and its bytes must not be changed.
type Schema interface {
	JSON() json.RawMessage
}

// RawSchema is a Schema held in memory.
type RawSchema json.RawMessage

// JSON returns the bytes as they came.
func (s RawSchema) JSON() json.RawMessage { return json.RawMessage(s) }

// Annotations are an MCP server's claims about a tool. They are claims, not
// facts; nil means not said, and the pessimistic reading applies.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// MayDestroy reports whether a call may change something for the worse,
// reading absent claims pessimistically as MCP asks.
func (a Annotations) MayDestroy() bool {
	if a.ReadOnly != nil && *a.ReadOnly {
		return false
	}
	return a.Destructive == nil || *a.Destructive
}

// Tool is one callable thing. A Tool is immutable once a source has published
// it and is shared by every catalog that lists it.
type Tool struct {
	ID          ID
	Source      Source
	Owner       string // "core", a plugin's id, an MCP server's name, or "client"
	Name        string // the name inside its owner, as the owner spells it
	Label       string // human title, may be empty
	Description string
	SearchHint  string // extra words to be found by, from anthropic/searchHint
	Mode        CatalogMode
	Input       Schema // never nil in a published tool
	Output      Schema // nil when the tool declares none
	TrustSchema bool   // its schemas may be walked; implied for trusted sources
	Annotations Annotations
	Sequential  bool // must run alone in its round

	// Definition is an MCP tool's definition exactly as its server sent it,
	// so that passing it through loses nothing. Nil for other sources.
	Definition json.RawMessage
	// Held says that a person has not accepted the Definition yet: whoever lists the
	// tool shows what the other fields say of it, and nothing of the Definition.
	Held bool
	// Revision changes whenever anything in the definition changes. The source
	// computes it when it reads the definition, so that a catalog's fingerprint
	// needs no schema.
	Revision string

	// Invoker runs the tool. Only package call uses it. Nil means that the tool
	// can be found but not run (an offline catalog).
	Invoker Invoker
}

// SchemaTrusted reports whether the tool's schemas may be walked.
func (t *Tool) SchemaTrusted() bool { return t.TrustSchema || t.Source.Trusted() }

// Call is one request to an Invoker.
type Call struct {
	// Args is a JSON object, already validated as far as the pipeline does.
	Args json.RawMessage
	// Progress, when not nil, takes the tool's progress reports. It must not
	// block and is not called after Invoke has returned.
	Progress func(Progress)
}

// Progress is a report from a running call.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Invoker runs one tool. Invoke honours ctx, is safe for concurrent use, and
// returns an error only when there is no result at all; a tool that failed in
// its own words returns a Result with IsError set.
type Invoker interface {
	Invoke(ctx context.Context, c Call) (*Result, error)
}

// InvokerFunc is an Invoker made of a function.
type InvokerFunc func(ctx context.Context, c Call) (*Result, error)

// Invoke calls f.
func (f InvokerFunc) Invoke(ctx context.Context, c Call) (*Result, error) { return f(ctx, c) }

// Normalize folds what people and models vary in a tool name: case, and the
// choice between '-', '_', '.' and space. Two names that normalise alike are
// treated as one only where no exact match exists.
func Normalize(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '.', ' ':
			return '_'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}
