package call

import (
	"container/list"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// PagerConfig bounds a Pager. Zero is the default of each.
type PagerConfig struct {
	Texts int           // texts held at once, 256; a quarter of them of one owner
	Bytes int           // bytes of all of them, 64 MiB; a quarter of them of one owner
	Age   time.Duration // how long a text is held, 15 minutes
	Now   func() time.Time
}

// Pager holds the full texts of results that were cut, for a while, so that a
// model can read on. A handle is unguessable and good only for who got it: the
// same caller in the same session. The oldest texts go first when the bounds are
// reached: an owner's own, and then those of the caller that has most, in however
// many sessions. It is safe for concurrent use.
type Pager struct {
	cfg PagerConfig

	mu     sync.Mutex
	texts  map[string]*list.Element
	order  *list.List // of *held, the oldest first
	bytes  int
	owners map[pageOwner]*pageUse
}

// pageOwner is whose a text is. The run is left out: a client without sessions
// reads on in another request.
type pageOwner struct{ session, caller string }

type pageUse struct{ texts, bytes int }

type held struct {
	handle string
	owner  pageOwner
	text   string
	since  time.Time
}

// ownerShare is the part of a Pager that one owner may fill.
const ownerShare = 4

// NewPager makes an empty Pager.
func NewPager(c PagerConfig) (*Pager, error) {
	if c.Texts < 0 || c.Bytes < 0 || c.Age < 0 {
		return nil, errors.New("set up paging of results: a bound is negative")
	}
	if c.Texts == 0 {
		c.Texts = 256
	}
	if c.Bytes == 0 {
		c.Bytes = 64 << 20
	}
	if c.Age == 0 {
		c.Age = 15 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Pager{cfg: c, texts: map[string]*list.Element{}, order: list.New(), owners: map[pageOwner]*pageUse{}}, nil
}

// Hold keeps a text for whoever made the call, and returns its handle. It is
// false for a text that is larger than an owner's share.
func (p *Pager) Hold(o Origin, text string) (handle string, ok bool) {
	if len(text) > p.cfg.Bytes/ownerShare {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	owner := pageOwner{o.Session, o.Caller}
	p.expire()
	use := p.owners[owner]
	for use != nil && use.texts > 0 && (use.texts >= max(1, p.cfg.Texts/ownerShare) || use.bytes+len(text) > p.cfg.Bytes/ownerShare) {
		p.dropOldest(func(h *held) bool { return h.owner == owner })
	}
	for p.order.Len() > 0 && (p.order.Len() >= p.cfg.Texts || p.bytes+len(text) > p.cfg.Bytes) {
		greediest := p.greediest()
		p.dropOldest(func(h *held) bool { return greediest[h.owner.caller] })
	}
	h := &held{handle: rand.Text(), owner: owner, text: text, since: p.cfg.Now()} // 128 random bits and more
	p.texts[h.handle] = p.order.PushBack(h)
	p.bytes += len(text)
	if use = p.owners[owner]; use == nil {
		use = &pageUse{}
		p.owners[owner] = use
	}
	use.texts++
	use.bytes += len(text)
	return h.handle, true
}

// greediest are the callers that take up most of what is bounded.
func (p *Pager) greediest() map[string]bool {
	share := map[string]int{} // of both bounds, in parts that can be added
	most := 0
	for owner, use := range p.owners {
		share[owner.caller] += use.texts*max(1, p.cfg.Bytes/p.cfg.Texts) + use.bytes
		most = max(most, share[owner.caller])
	}
	out := map[string]bool{}
	for caller, n := range share {
		if n == most {
			out[caller] = true
		}
	}
	return out
}

func (p *Pager) expire() {
	for el := p.order.Front(); el != nil && p.cfg.Now().Sub(el.Value.(*held).since) >= p.cfg.Age; el = p.order.Front() {
		p.drop(el)
	}
}

func (p *Pager) dropOldest(of func(*held) bool) {
	for el := p.order.Front(); el != nil; el = el.Next() {
		if of(el.Value.(*held)) {
			p.drop(el)
			return
		}
	}
}

func (p *Pager) drop(el *list.Element) {
	h := p.order.Remove(el).(*held)
	delete(p.texts, h.handle)
	p.bytes -= len(h.text)
	use := p.owners[h.owner]
	use.texts--
	use.bytes -= len(h.text)
	if use.texts == 0 {
		delete(p.owners, h.owner)
	}
}

// PageRequest asks for a part of a held text.
type PageRequest struct {
	Handle string
	Offset int // bytes from the beginning, as a note or a page gives it
}

// ReadPage reads {"page": handle, "offset": n} from the arguments of tool_call. It
// is false when they ask for no page: page is missing, or no string, or an id
// stands beside it.
func ReadPage(args json.RawMessage) (PageRequest, bool, error) {
	o, err := tool.ReadObject(args)
	if err != nil || o.Index("id") >= 0 {
		return PageRequest{}, false, nil
	}
	var r PageRequest
	if raw := o.Get("page"); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &r.Handle) != nil {
		return PageRequest{}, false, nil
	}
	for _, m := range o {
		switch m.Name {
		case "page":
		case "offset":
			if json.Unmarshal(m.Value, &r.Offset) != nil || r.Offset < 0 {
				return r, true, pageError("offset must be a whole number from 0", `Pass {"page": …, "offset": …} as the note says.`)
			}
		default:
			return r, true, pageError(fmt.Sprintf("%q does not go with page", tool.Clean(m.Name, 100)), `Pass {"page": …, "offset": …} alone.`)
		}
	}
	return r, true, nil
}

// IsHandle reports whether a text has the form of a handle.
func IsHandle(s string) bool {
	return len(s) == handleLen && strings.Trim(s, handleChars) == ""
}

// The form of what crypto/rand.Text makes.
const (
	handleLen   = 26
	handleChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

func pageError(what, next string) *tool.Error {
	return &tool.Error{Code: tool.CodeInvalidInput, Reason: "read a page of a result: " + what, Next: next}
}

// Page is a part of a held text.
type Page struct {
	Handle string
	Text   string
	Offset int // where it begins, in bytes
	Next   int // where the next one begins; Total at the end
	Total  int // bytes of the whole text
}

// Page returns the part of a text that begins at the offset: at most that
// many characters, up to the end of a line where there is one. A handle of somebody else
// is as unknown as one that never was.
func (p *Pager) Page(o Origin, r PageRequest, most int) (Page, error) {
	text, ok := p.text(o, r.Handle)
	if !ok {
		return Page{}, pageError("there is no such page, or not any more", "Call the tool again, and ask it for less.")
	}
	if r.Offset >= len(text) {
		return Page{}, pageError(fmt.Sprintf("offset %d is behind the end at %d", r.Offset, len(text)), "Pass a smaller offset.")
	}
	start := validOffset(text, r.Offset)
	rest := text[start:]
	end := lineEnd(rest, prefix(rest, max(1, most)))
	if end == 0 { // one character that is wider than the room
		end = len(rest)
		for i := range rest {
			if i > 0 {
				end = i
				break
			}
		}
	}
	return Page{Handle: r.Handle, Text: rest[:end], Offset: start, Next: start + end, Total: len(text)}, nil
}

func (p *Pager) text(o Origin, handle string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	el, ok := p.texts[handle]
	if !ok {
		return "", false
	}
	h := el.Value.(*held)
	return h.text, h.owner == pageOwner{o.Session, o.Caller}
}

// Result is the page for a model: its text, and a note on how to read on.
func (g Page) Result() *tool.Result {
	note := fmt.Sprintf("Bytes %d to %d of %d: the end.", g.Offset, g.Next, g.Total)
	if g.Next < g.Total {
		note = fmt.Sprintf("Bytes %d to %d of %d. Read on with tool_call %s.", g.Offset, g.Next, g.Total, pageCall(g.Handle, g.Next))
	}
	return &tool.Result{Content: []tool.Content{tool.Text(g.Text), tool.Text(note)}}
}

func pageCall(handle string, offset int) string {
	return fmt.Sprintf(`{"page":%q,"offset":%d}`, handle, offset)
}

// Shaper shapes the results of one program, and holds what it cuts. It is safe
// for concurrent use.
type Shaper struct {
	limits Limits
	pager  *Pager
}

// NewShaper makes a Shaper. Without a pager what is cut cannot be read.
func NewShaper(limits Limits, pager *Pager) (*Shaper, error) {
	checked, err := CheckLimits(limits)
	if err != nil {
		return nil, err
	}
	return &Shaper{limits: checked, pager: pager}, nil
}

// Reading says how what was cut can be read on.
type Reading int

// The ways to read on.
const (
	ReadByCall Reading = iota // with tool_call
	ReadByCode                // from a code body
	ReadNever                 // there is no control that could
)

// Reader is who gets a result, and what it may read of it.
type Reader struct {
	Origin  Origin
	Reading Reading
	// Amend, when not nil, may put another text to read in pages into the cut, and
	// how much of that is shown.
	Amend func(c *Cut, shown *tool.Result)
}

// Shape returns what a model gets of a result, see the function Shape, with a note
// at the end where something was cut.
func (s *Shaper) Shape(r Reader, res *tool.Result) *tool.Result {
	shaped, cut := Shape(res, s.limits)
	if cut == nil {
		return shaped
	}
	if r.Amend != nil {
		r.Amend(cut, shaped)
	}
	note := s.note(r, cut)
	noted, err := AppendText(shaped, note)
	if err != nil { // the raw form cannot be rewritten; the fields can
		light := *shaped
		light.Raw = nil
		if noted, err = AppendText(&light, note); err != nil {
			return shaped
		}
	}
	return noted
}

// note tells of a cut, in at most noteChars characters.
func (s *Shaper) note(r Reader, cut *Cut) string {
	text := fmt.Sprintf("Cut to fit: %d of %d characters are shown.", cut.Shown, cut.Total)
	if cut.Blocks > 0 {
		text += fmt.Sprintf(" %d content blocks were left out.", cut.Blocks)
	}
	if s.pager != nil && r.Reading != ReadNever {
		if handle, ok := s.pager.Hold(r.Origin, cut.Full); ok {
			how := "tool_call " + pageCall(handle, cut.Next)
			if r.Reading == ReadByCode {
				how = fmt.Sprintf("await openclaw.tools.call(%q, {offset: %d})", handle, cut.Next)
			}
			return text + fmt.Sprintf(" Read all of it, part by part, with %s.", how)
		}
	}
	return text + " The rest is not kept: ask the tool for less."
}

// Page answers a page request with as much text as fits.
func (s *Shaper) Page(o Origin, r PageRequest) (*tool.Result, error) {
	page, err := s.page(o, r, s.limits.Chars-noteChars)
	if err != nil {
		return nil, err
	}
	return page.Result(), nil
}

// PageForCode is Page for a code body: the text, and where it stands as details.
// It is half as much, since a body that returns it puts it into JSON once more.
func (s *Shaper) PageForCode(o Origin, r PageRequest) (*tool.Result, error) {
	page, err := s.page(o, r, s.limits.Chars/2)
	if err != nil {
		return nil, err
	}
	at := struct {
		Offset int `json:"offset"`
		Next   int `json:"next"`
		Total  int `json:"total"`
	}{page.Offset, page.Next, page.Total}
	details, err := tool.Encode(at)
	if err != nil {
		return nil, err
	}
	return &tool.Result{Content: []tool.Content{tool.Text(page.Text)}, Details: details}, nil
}

func (s *Shaper) page(o Origin, r PageRequest, most int) (Page, error) {
	if s.pager == nil {
		return Page{}, pageError("results are not kept here", "Call the tool again, and ask it for less.")
	}
	return s.pager.Page(o, r, most)
}
