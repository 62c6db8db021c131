package config

import (
	"fmt"
	"runtime"
	"time"

	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/turn"
)

// The numbers of tools.toolSearch, as indexes into searchBlock.numbers.
const (
	numCodeTimeout = iota
	numMaxLimit
	numDefaultLimit
	numCodeBytes
	numLogBytes
	numResultBytes
	numMemoryBytes
	numInFlight
	numCalls
	numChildren
	numCount
)

// knob is one number of tools.toolSearch: its key, default and bounds.
type knob struct {
	key            string
	value, low, hi int64
	shown          string // the default, if it is not the same everywhere
	doc            string
}

// maxSearchLimit is the highest value of both search limits.
const maxSearchLimit = 50

func knobs() [numCount]knob {
	const kib, mib = 1 << 10, 1 << 20
	return [numCount]knob{
		numCodeTimeout:  {"codeTimeoutMs", 10000, 1000, 60000, "", "How long a code body may run, in milliseconds. Time spent waiting for an approval does not count."},
		numMaxLimit:     {"maxSearchLimit", 20, 1, maxSearchLimit, "", "The most hits that one search returns, whatever it asks for."},
		numDefaultLimit: {"searchDefaultLimit", 8, 1, maxSearchLimit, "", "The hits of a search that does not say how many. At most `maxSearchLimit`."},
		numCodeBytes:    {"codeMaxBytes", 256 * kib, 1 * kib, 1 * mib, "", "The longest code body, in bytes."},
		numLogBytes:     {"codeMaxLogBytes", 64 * kib, 1 * kib, 1 * mib, "", "What a code body may log, in bytes. The rest is cut, and says so."},
		numResultBytes:  {"codeMaxResultBytes", 256 * kib, 1 * kib, 4 * mib, "", "The longest result of a code body, in bytes."},
		numMemoryBytes:  {"codeMaxMemoryBytes", 64 * mib, 16 * mib, 128 * mib, "", "The memory of a code body, in bytes."},
		numInFlight:     {"codeMaxInFlight", 16, 1, 64, "", "The tool calls that a code body may have in flight."},
		numCalls:        {"codeMaxCalls", 1000, 1, 10000, "", "The tool calls that a code body may make in all."},
		numChildren:     {"codeMaxChildren", min(int64(runtime.NumCPU()), 64), 1, 64, "one per core", "The code bodies that run at one time; the rest wait in order. Read from the global block only."},
	}
}

// setting is a value that a file may give or not.
type setting[V any] struct {
	value V
	pos   Pos
	set   bool
}

func (s *setting[V]) put(v V, p Pos) { *s = setting[V]{v, p, true} }

// over returns s, or below where s is not set.
func (s setting[V]) over(below setting[V]) setting[V] {
	if s.set {
		return s
	}
	return below
}

// searchBlock is tools.toolSearch as written.
type searchBlock struct {
	enabled setting[bool]
	mode    setting[string]
	runtime setting[string]
	numbers [numCount]setting[int64]
	path    json5.Path

	directory directoryBlock
}

// directoryBlock is tools.toolSearch.directory as written.
type directoryBlock struct {
	given    bool
	required setting[[]string]
	likely   setting[bool]
}

func searchSection() section[searchBlock] {
	fields := []field[searchBlock]{
		{row{Key: "enabled", Type: "boolean", Doc: "`false` turns search off whatever else stands here. Absent: on if any other key stands here."},
			func(r *reader, s spot, into *searchBlock) {
				if v, ok := r.boolean(s); ok {
					into.enabled.put(v, r.at(s))
				}
			}},
		choice(row{Key: "mode", Default: "`code`", Doc: "`code`: one tool that runs JavaScript against the catalog. `tools`: search, describe and call as three tools. `directory`: the same three and a listing in the prompt. `auto`: direct below the measured break-even, search above it."},
			[]string{string(ModeCode), string(ModeTools), string(ModeDirectory), string(ModeAuto)},
			func(b *searchBlock, v string, p Pos) { b.mode.put(v, p) }),
		choice(row{Key: "runtime", Default: "`embedded`", Doc: "What runs code bodies: the engine inside this program, or Node 25 or later."},
			[]string{string(RuntimeEmbedded), string(RuntimeNode)},
			func(b *searchBlock, v string, p Pos) { b.runtime.put(v, p) }),
		{row{Key: "directory", Type: "object", Doc: "What mode `directory` shows beside the listing. See `tools.toolSearch.directory` below."},
			func(r *reader, s spot, into *searchBlock) {
				into.directory.given = true
				sec := directorySection()
				sec.read(r, s, &into.directory)
			}},
	}
	for i, k := range knobs() {
		shown := k.shown
		if shown == "" {
			shown = fmt.Sprint(k.value)
		}
		f := number(row{Key: k.key, Default: shown, Doc: k.doc}, k.low, k.hi,
			func(b *searchBlock, v int64, p Pos) { b.numbers[i].put(v, p) })
		if i == numDefaultLimit {
			f.Bounds = "1–`maxSearchLimit`"
		}
		fields = append(fields, f)
	}
	return section[searchBlock]{
		path: "tools.toolSearch",
		intro: "`true` is `{enabled: true}`; `false` and `{}` are off. The block may stand under one agent too (`agents.list[].tools.toolSearch`) and then wins over the global one, field by field. " +
			"A number out of bounds is clamped with a warning.",
		fields: fields,
	}
}

func directorySection() section[directoryBlock] {
	return section[directoryBlock]{
		path: "tools.toolSearch.directory",
		intro: "Of mode `directory` alone. Its prompt lists the trusted tools (core tools and plugins) in at most 18,000 characters and a tenth of the model's context; " +
			"tools of MCP servers are found by search. An MCP client gets as much of the listing as fits into the 2 KB of `instructions` that clients read.",
		fields: []field[directoryBlock]{
			{row{Key: "required", Type: "array of strings", Default: "`[]`", Bounds: fmt.Sprintf("%d entries", turn.MaxRequired), Doc: "Tools that the model sees itself, by id or name. Search finds them too."},
				func(r *reader, s spot, into *directoryBlock) { readRequired(r, s, &into.required) }},
			{row{Key: "likely", Type: "boolean", Default: "`false`", Doc: fmt.Sprintf("Show also up to %d trusted tools that the current message is probably about, behind all other tools. In the agent's own runs only.", turn.MaxLikely)},
				func(r *reader, s spot, into *directoryBlock) {
					if v, ok := r.boolean(s); ok {
						into.likely.put(v, r.at(s))
					}
				}},
		},
	}
}

func readRequired(r *reader, s spot, into *setting[[]string]) {
	if !r.array(s) {
		return
	}
	if n := len(s.node.Elems); n > turn.MaxRequired {
		r.fault(r.at(s), s.path, fmt.Sprintf("%d tools are listed, %d are possible", n, turn.MaxRequired), "leave the rest to search")
		return
	}
	refs := make([]string, 0, len(s.node.Elems))
	for i := range s.node.Elems {
		ref, ok := r.text(s.elem(i))
		if ok && ref == "" {
			r.fault(r.at(s.elem(i)), s.elem(i).path, "the id or name is empty", "")
			ok = false
		}
		if ok {
			refs = append(refs, ref)
		}
	}
	into.put(refs, r.at(s))
}

// readSearch reads a boolean or an object.
func readSearch(r *reader, s spot, into *searchBlock) {
	into.path = s.path
	switch s.node.Kind {
	case json5.Bool:
		into.enabled.put(s.node.Bool(), r.at(s))
	case json5.Object:
		sec := searchSection()
		sec.read(r, s, into)
	default:
		r.wrong(s, "true, false or an object")
	}
}

// over lays b over below, field by field.
func (b searchBlock) over(below searchBlock) searchBlock {
	b.enabled = b.enabled.over(below.enabled)
	b.mode = b.mode.over(below.mode)
	b.runtime = b.runtime.over(below.runtime)
	b.directory.given = b.directory.given || below.directory.given
	b.directory.required = b.directory.required.over(below.directory.required)
	b.directory.likely = b.directory.likely.over(below.directory.likely)
	for i := range b.numbers {
		b.numbers[i] = b.numbers[i].over(below.numbers[i])
	}
	return b
}

// on: said outright, or by any key besides enabled.
func (b *searchBlock) on() bool {
	if b.enabled.set {
		return b.enabled.value
	}
	on := b.mode.set || b.runtime.set || b.directory.given
	for _, n := range b.numbers {
		on = on || n.set
	}
	return on
}

// resolve fills in defaults and holds searchDefaultLimit to maxSearchLimit. A
// reader is told when that changes what the file says, at the limit that stands
// in own, the block that is being read.
func (b *searchBlock) resolve(r *reader, own *searchBlock) ToolSearch {
	var n [numCount]int64
	for i, k := range knobs() {
		if n[i] = k.value; b.numbers[i].set {
			n[i] = b.numbers[i].value
		}
	}
	if n[numDefaultLimit] > n[numMaxLimit] {
		if b.numbers[numDefaultLimit].set && r != nil {
			text := fmt.Sprintf("searchDefaultLimit %d is above maxSearchLimit %d; %d is used", n[numDefaultLimit], n[numMaxLimit], n[numMaxLimit])
			if given := own.numbers[numDefaultLimit]; given.set {
				r.warn(given.pos, own.path.Child("searchDefaultLimit"), text)
			} else if given := own.numbers[numMaxLimit]; given.set {
				r.warn(given.pos, own.path.Child("maxSearchLimit"), text)
			}
		}
		n[numDefaultLimit] = n[numMaxLimit]
	}
	ts := ToolSearch{
		Enabled:            b.on(),
		Mode:               ModeCode,
		Runtime:            RuntimeEmbedded,
		CodeTimeout:        time.Duration(n[numCodeTimeout]) * time.Millisecond,
		MaxSearchLimit:     int(n[numMaxLimit]),
		SearchDefaultLimit: int(n[numDefaultLimit]),
		Code: CodeLimits{
			CodeBytes: int(n[numCodeBytes]), LogBytes: int(n[numLogBytes]), ResultBytes: int(n[numResultBytes]), MemoryBytes: int(n[numMemoryBytes]),
			InFlight: int(n[numInFlight]), Calls: int(n[numCalls]), Children: int(n[numChildren]),
		},
		Directory: Directory{Required: b.directory.required.value, Likely: b.directory.likely.value},
	}
	if b.mode.set {
		ts.Mode = Mode(b.mode.value)
	}
	if b.runtime.set {
		ts.Runtime = Runtime(b.runtime.value)
	}
	return ts
}
