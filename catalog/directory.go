package catalog

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of a listing, in characters as tool.Chars counts them.
const (
	MaxListingChars       = 18000 // all of it
	MaxListingDescription = 180   // one description

	minListingDescription = 16  // a shorter rest of a description says nothing
	maxListingName        = 128 // a tool with a longer name is left to search
	maxListingOwner       = 64
	maxListingServers     = 40 // named with their counts; the others are summed up
)

// charsPerToken turns a model's context, which is measured in tokens, into
// characters: English text has about four to a token.
const charsPerToken = 4

// ListingBudget is how many characters a listing may have for a model with a
// context of that many tokens: a tenth of it, and MaxListingChars at most. An
// unknown context (below 1) has MaxListingChars, a tenth of 45,000 tokens.
func ListingBudget(contextTokens int) int {
	if contextTokens < 1 || contextTokens >= 10*MaxListingChars/charsPerToken {
		return MaxListingChars
	}
	return contextTokens * charsPerToken / 10
}

// Listing is what a prompt says of a catalog in directory mode.
type Listing struct {
	Text    string // "" when there is nothing to say, or no room for it
	Listed  int    // trusted tools that have a line
	Omitted int    // trusted tools that have none
}

const (
	listingHead = "Tools behind tool_search, by name (owner): what it does. To use one, tool_describe its name, then tool_call.\n"
	omittedNote = "%d more like these are not listed; tool_search finds them.\n"
	serversNote = "More tools can be found with tool_search only: "
)

// Directory lists the catalog's trusted tools, one line each, in at most budget
// characters (and never more than MaxListingChars). Where they do not fit,
// descriptions are shortened to one common length first; then names are left
// out, each owner losing those it has most of. What MCP servers and clients say
// of their tools is never in it: there are only the servers' names, which the
// operator chose, and how many tools they have.
//
// It is a pure function of catalog and budget: equal tools give equal bytes.
func (c *Catalog) Directory(budget int) Listing {
	budget = min(budget, MaxListingChars)
	var lines []line
	trusted := 0
	servers := map[string]int{}
	for _, t := range c.tools {
		if !t.Source.Trusted() {
			servers[t.Owner]++
			continue
		}
		trusted++
		if l, ok := newLine(t); ok {
			lines = append(lines, l)
		}
	}
	foot := serverNote(servers, budget)
	l := Listing{Omitted: trusted}
	body := ""
	if room := budget - tool.Chars(listingHead) - tool.Chars(foot); len(lines) > 0 && room > 0 {
		body, l.Listed = fitLines(lines, trusted, room)
		l.Omitted -= l.Listed
	}
	if l.Listed > 0 {
		l.Text = listingHead + body
	}
	if l.Omitted > 0 {
		note := fmt.Sprintf(omittedNote, l.Omitted)
		if l.Listed == 0 {
			note = fmt.Sprintf("%d tools are not listed; tool_search finds them.\n", l.Omitted)
		}
		if tool.Chars(l.Text)+tool.Chars(note)+tool.Chars(foot) <= budget {
			l.Text += note
		}
	}
	l.Text = strings.TrimSuffix(l.Text+foot, "\n")
	return l
}

// line is one tool of a listing.
type line struct {
	name, owner, description string
	chars                    int // of the line without its description
	wanted                   int // characters of the description
}

// newLine makes a tool's line. A name that cannot stand in a line unchanged
// has none: a changed name would call nothing, or another tool.
func newLine(t *tool.Tool) (line, bool) {
	if tool.Chars(t.Name) > maxListingName || tool.Clean(t.Name, len(t.Name)) != t.Name || strings.ContainsFunc(t.Name, unicode.IsSpace) {
		return line{}, false
	}
	l := line{name: t.Name, owner: plainName(t.Owner), description: brief(t.Description)}
	l.chars = tool.Chars(l.name) + tool.Chars(l.owner) + len("-  ()\n")
	l.wanted = tool.Chars(l.description)
	return l, true
}

// write appends the line with at most that much of its description.
func (l *line) write(b *strings.Builder, description int) {
	b.WriteString("- " + l.name + " (" + l.owner + ")")
	if d, _ := tool.CutChars(l.description, description); d != "" {
		b.WriteString(": " + d)
	}
	b.WriteByte('\n')
}

// size is the most characters that write appends.
func (l *line) size(description int) int {
	if d := min(l.wanted, description); d > 0 {
		return l.chars + len(": ") + d
	}
	return l.chars
}

// brief is a description on one line, at most MaxListingDescription characters.
// Of a long one only the beginning is read: first as much as is enough for most,
// and where that is short of characters, more, up to 16 KiB.
func brief(s string) string {
	const first, last = 256, 256 * 8 * 8
	for read := first; ; read *= 8 {
		begin := s[:min(len(s), read)]
		line := strings.Join(strings.Fields(tool.Clean(begin, 2*len(begin))), " ")
		short, cut := tool.CutChars(line, MaxListingDescription)
		if cut || len(begin) == len(s) {
			return short
		}
		if read == last {
			// Half a character may stand at the end, which Clean has replaced.
			if line = strings.TrimSpace(strings.TrimSuffix(line, "\uFFFD")); line != "" {
				line, _ = tool.CutChars(line+"…", MaxListingDescription)
			}
			return line
		}
	}
}

// plainName makes the name of an owner safe to show between commas and
// parentheses.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/@", r) {
			return r
		}
		return '_'
	}, s)
	s, _ = tool.CutChars(s, maxListingOwner)
	return s
}

// fitLines writes as many lines as have room, and says how many those are.
// Where there are fewer than trusted, room is kept for the note that says so.
func fitLines(lines []line, trusted, room int) (string, int) {
	total := func(description int) int {
		n := 0
		for i := range lines {
			n += lines[i].size(description)
		}
		return n
	}
	noteRoom := len(fmt.Sprintf(omittedNote, trusted))
	if len(lines) < trusted {
		room -= noteRoom
	}
	length := MaxListingDescription
	if total(length) > room {
		low, high := 0, MaxListingDescription // the longest common length that fits
		for low < high {
			if mid := (low + high + 1) / 2; total(mid) <= room {
				low = mid
			} else {
				high = mid - 1
			}
		}
		if length = low; length < minListingDescription {
			length = 0
		}
	}
	kept := lines
	if length == 0 && total(0) > room {
		if len(lines) == trusted {
			room -= noteRoom
		}
		kept = share(lines, room)
	}
	var b strings.Builder
	for i := range kept {
		kept[i].write(&b, length)
	}
	return b.String(), len(kept)
}

// share picks lines that fit into room without descriptions: one of each owner
// in turn, until the next does not fit. Owners and the tools of each are taken
// in an order that spreads over them, so that what comes late in the alphabet
// is not what is lost. The picked lines keep their order.
func share(lines []line, room int) []line {
	var owners [][]int // indexes into lines, which are sorted by owner
	for i := range lines {
		if i == 0 || lines[i].owner != lines[i-1].owner {
			owners = append(owners, nil)
		}
		last := len(owners) - 1
		owners[last] = append(owners[last], i)
	}
	orders := make([][]int, len(owners))
	for i, own := range owners {
		orders[i] = spread(len(own))
	}
	turn := spread(len(owners))
	var picked []int
	for round, more := 0, true; more; round++ {
		more = false
		for _, o := range turn {
			if round >= len(owners[o]) {
				continue
			}
			i := owners[o][orders[o][round]]
			if lines[i].chars > room {
				more = false
				break
			}
			more = true
			room -= lines[i].chars
			picked = append(picked, i)
		}
	}
	slices.Sort(picked)
	out := make([]line, len(picked))
	for i, n := range picked {
		out[i] = lines[n]
	}
	return out
}

// spread orders 0…n-1 so that every beginning of the order is spread evenly
// over the whole: by the reversed bits of each number (van der Corput).
func spread(n int) []int {
	if n == 0 {
		return nil
	}
	width := bits.Len(uint(n - 1))
	order := make([]int, 0, n)
	for i := range 1 << width {
		if r := int(bits.Reverse64(uint64(i)) >> (64 - width)); r < n {
			order = append(order, r)
		}
	}
	return order
}

// serverNote says what can be found with search alone: how many tools of which
// server, those with most first. It takes a quarter of the budget at most, and
// names as many servers as that allows.
func serverNote(servers map[string]int, budget int) string {
	type server struct {
		name  string
		tools int
	}
	list := make([]server, 0, len(servers))
	rest := 0
	for name, n := range servers {
		list = append(list, server{name, n})
		rest += n
	}
	if rest == 0 {
		return ""
	}
	slices.SortFunc(list, func(a, b server) int {
		return cmp.Or(cmp.Compare(b.tools, a.tools), strings.Compare(a.name, b.name))
	})
	var named []string
	room := budget/4 - len(serversNote) - len(fmt.Sprintf("and %d other servers (%d tools).\n", len(list), rest))
	others := len(list)
	for _, s := range list[:min(len(list), maxListingServers)] {
		entry := fmt.Sprintf("%s (%d)", plainName(s.name), s.tools)
		if room -= tool.Chars(entry) + len(", "); room < 0 {
			break
		}
		named = append(named, entry)
		others--
		rest -= s.tools
	}
	note := ""
	switch {
	case others == 0:
		note = serversNote + strings.Join(named, ", ") + ".\n"
	case len(named) == 0:
		note = fmt.Sprintf("%d more tools can be found with tool_search only.\n", rest)
	default:
		note = fmt.Sprintf("%s%s, and %d other servers (%d tools).\n", serversNote, strings.Join(named, ", "), others, rest)
	}
	if tool.Chars(note) > budget {
		return ""
	}
	return note
}
