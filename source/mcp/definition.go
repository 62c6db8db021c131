package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of what is kept for display and search. The definition itself is kept
// whole.
const (
	maxName        = 256 // bytes; longer names are dropped, a cut name could not be called
	maxLabel       = 200
	maxDescription = 64 << 10
	maxSearchHint  = 300
	maxPinned      = 4 // tools of one server that may ask to be always visible
)

// definition is a tool as tools/list describes it, with each field left raw:
// one field of a wrong type must not cost the tool.
type definition struct {
	Name         json.RawMessage `json:"name"`
	Title        json.RawMessage `json:"title"`
	Description  json.RawMessage `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Meta         json.RawMessage `json:"_meta"`
}

// toolMeta holds the vendor keys that are read.
type toolMeta struct {
	SearchHint json.RawMessage `json:"anthropic/searchHint"`
	AlwaysLoad json.RawMessage `json:"anthropic/alwaysLoad"`
}

// lenient decodes raw, and gives the zero value where the type is wrong.
func lenient[T any](raw json.RawMessage) T {
	var v T
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// toolSet turns definitions into tools, in the server's order.
type toolSet struct {
	srv    *server
	tools  []*tool.Tool
	seen   map[string]bool
	pinned int

	unpinned  int // asked to be always visible, beyond the bound
	unusable  int // no name, a name that is too long, or no object at all
	mended    int // see tool.ParseMCPTool
	duplicate int
}

func newToolSet(srv *server) *toolSet { return &toolSet{srv: srv, seen: map[string]bool{}} }

// add reads one definition. It keeps raw, or what ParseMCPTool leaves of it.
func (s *toolSet) add(raw json.RawMessage) {
	clean, err := tool.ParseMCPTool(raw)
	if err != nil {
		s.unusable++
		return
	}
	def := lenient[definition](clean)
	wire := lenient[string](def.Name)
	name := tool.CleanLine(wire, maxName+1)
	if name == "" || len(name) > maxName || len(wire) > 4*maxName {
		s.unusable++
		return
	}
	if s.seen[name] {
		s.duplicate++
		return
	}
	s.seen[name] = true
	cfg := &s.srv.cfg
	t := &tool.Tool{
		ID:          tool.NewID(tool.MCP, cfg.Name, name),
		Source:      tool.MCP,
		Owner:       cfg.Name,
		Name:        name,
		Description: tool.Clean(lenient[string](def.Description), maxDescription),
		Input:       tool.RawSchema(`{"type":"object"}`),
		TrustSchema: cfg.TrustSchemas,
		Annotations: readAnnotations(def.Annotations),
		Definition:  clean,
		Revision:    revision(raw),
	}
	if !bytes.Equal(clean, raw) {
		s.mended++
	}
	t.Invoker = &invoker{srv: s.srv, name: wire, shown: name, revision: t.Revision}
	t.Label = tool.CleanLine(lenient[string](def.Title), maxLabel)
	if t.Label == "" {
		t.Label = t.Annotations.Title
	}
	if present(def.InputSchema) {
		t.Input = tool.RawSchema(def.InputSchema)
	}
	if present(def.OutputSchema) {
		t.Output = tool.RawSchema(def.OutputSchema)
	}
	meta := lenient[toolMeta](def.Meta)
	t.SearchHint = tool.CleanLine(lenient[string](meta.SearchHint), maxSearchHint)
	if lenient[bool](meta.AlwaysLoad) {
		if s.pinned < maxPinned {
			s.pinned++
			t.Mode = tool.DirectOnly
		} else {
			s.unpinned++
		}
	}
	s.tools = append(s.tools, t)
}

// notices says what was left out and why, "" when nothing was.
func (s *toolSet) notices() []string {
	var out []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d "+format, append([]any{n}, args...)...))
		}
	}
	say(s.unusable, "tools were left out: no usable name (1 to %d bytes)", maxName)
	say(s.duplicate, "tools were left out: their names were listed before")
	say(s.mended, "tools have members of a wrong type, or twice, that are left out")
	say(s.unpinned, "tools asked to be always visible and stay searchable instead: at most %d of a server may", maxPinned)
	return out
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// readAnnotations reads each claim alone, so that a malformed one does not
// take the others with it; what is missing is read pessimistically.
func readAnnotations(raw json.RawMessage) tool.Annotations {
	fields := lenient[struct {
		Title       json.RawMessage `json:"title"`
		ReadOnly    json.RawMessage `json:"readOnlyHint"`
		Destructive json.RawMessage `json:"destructiveHint"`
		Idempotent  json.RawMessage `json:"idempotentHint"`
		OpenWorld   json.RawMessage `json:"openWorldHint"`
	}](raw)
	return tool.Annotations{
		Title:       tool.CleanLine(lenient[string](fields.Title), maxLabel),
		ReadOnly:    lenient[*bool](fields.ReadOnly),
		Destructive: lenient[*bool](fields.Destructive),
		Idempotent:  lenient[*bool](fields.Idempotent),
		OpenWorld:   lenient[*bool](fields.OpenWorld),
	}
}

// revision is a digest of the definition's bytes.
func revision(raw json.RawMessage) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
