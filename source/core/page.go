package core

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// isCertificate reports whether the server could not prove who it is.
func isCertificate(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.As(err, &cert)
}

// decodeText turns a body into UTF-8, by its byte order mark, its header or its
// own declaration. JSON is UTF-8 (RFC 8259, 8.1).
func decodeText(src source) string {
	if strings.HasSuffix(src.media, "json") {
		return strings.ToValidUTF8(string(src.body), "\uFFFD")
	}
	enc, _, _ := charset.DetermineEncoding(src.body[:min(len(src.body), 1024)], src.contentType)
	text, err := enc.NewDecoder().Bytes(src.body)
	if err != nil {
		text = src.body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}

type renderOptions struct {
	base  *url.URL // what relative links are resolved by
	links bool     // write Markdown, with links, or plain text
	limit int      // bytes of text
}

type rendered struct {
	title     string
	text      string
	truncated bool
}

// renderer writes HTML as Markdown in one pass over its tokens. It builds no
// tree: its work is linear in the page's length and its memory bounded by the
// limit, however the tags are nested.
type renderer struct {
	opt   renderOptions
	out   bytes.Buffer
	title strings.Builder

	skip      atom.Atom // an element whose content is left out, 0 for none
	skipDepth int
	inTitle   bool
	pre       int
	lists     []int // of each open list the next number, -1 for bullets
	href      string
	linkAt    int // where the open link's text begins in out, -1 for none

	space   bool // white space is due before the next text
	breaks  int  // line ends are due before the next text
	written bool // anything stands in the line
}

// maxLists bounds how deep lists are shown inside one another.
const maxLists = 16

func renderHTML(text string, opt renderOptions) rendered {
	r := renderer{opt: opt, linkAt: -1}
	z := html.NewTokenizer(strings.NewReader(text))
	for r.out.Len() <= opt.limit {
		switch z.Next() {
		case html.ErrorToken: // the end: a string gives no other error
			r.closeLink()
			return r.result(false)
		case html.TextToken:
			r.text(z.Text())
		case html.StartTagToken:
			r.tag(z, false)
		case html.SelfClosingTagToken:
			r.tag(z, true)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
	return r.result(true)
}

func (r *renderer) result(cut bool) rendered {
	return rendered{
		title:     strings.Join(strings.Fields(r.title.String()), " "),
		text:      strings.TrimSpace(r.out.String()),
		truncated: cut,
	}
}

// text writes the text of a page, its white space collapsed.
func (r *renderer) text(b []byte) {
	switch {
	case r.skip != 0:
	case r.inTitle:
		if r.title.Len() < 4*maxTitle {
			r.title.Write(b)
		}
	case r.pre > 0:
		r.flush()
		r.out.Write(b)
	default:
		for len(b) > 0 && r.out.Len() <= r.opt.limit {
			n := bytes.IndexAny(b, " \t\r\n\f\u00a0")
			switch {
			case n < 0:
				r.word(b)
				return
			case n > 0:
				r.word(b[:n])
			}
			r.space = true
			b = bytes.TrimLeft(b[n:], " \t\r\n\f\u00a0")
		}
	}
}

func (r *renderer) word(b []byte) {
	r.flush()
	r.out.Write(b)
}

// flush writes the white space that is due.
func (r *renderer) flush() {
	switch {
	case r.out.Len() == 0:
	case r.breaks > 0:
		for range r.breaks {
			r.out.WriteByte('\n')
		}
	case r.space && r.written:
		r.out.WriteByte(' ')
	}
	r.breaks, r.space, r.written = 0, false, true
}

// lines asks for n line ends before the next text.
func (r *renderer) lines(n int) {
	r.breaks = max(r.breaks, n)
	r.space = false
}

// prefix begins a line with a mark such as "# ".
func (r *renderer) prefix(s string) {
	r.flush()
	r.out.WriteString(s)
	r.space, r.written = false, false
}

func (r *renderer) tag(z *html.Tokenizer, selfClosing bool) {
	name, more := z.TagName()
	a := atom.Lookup(name)
	if r.skip != 0 {
		if a == r.skip && !selfClosing {
			r.skipDepth++
		}
		return
	}
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Textarea, atom.Select, atom.Noframes, atom.Noembed:
		if !selfClosing {
			r.skip, r.skipDepth = a, 1
		}
	case atom.Title:
		r.inTitle = r.title.Len() == 0
		if !r.inTitle {
			r.skip, r.skipDepth = a, 1
		}
	case atom.A:
		r.closeLink()
		r.openLink(attribute(z, more, "href"))
	case atom.Base:
		if u := r.resolve(attribute(z, more, "href")); u != nil {
			r.opt.base = u
		}
	case atom.Img:
		if alt := strings.Join(strings.Fields(attribute(z, more, "alt")), " "); alt != "" {
			r.text([]byte(" [image: " + alt + "] "))
		}
	default:
		r.block(a)
	}
}

// block begins an element that shapes lines.
func (r *renderer) block(a atom.Atom) {
	switch a {
	case atom.Br:
		r.lines(1)
	case atom.Hr:
		r.lines(2)
		r.prefix("---")
		r.lines(2)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.lines(2)
		if r.opt.links {
			r.prefix(strings.Repeat("#", int(a.String()[1]-'0')) + " ")
		}
	case atom.Pre:
		r.lines(2)
		r.pre++
		if r.opt.links && r.pre == 1 {
			r.prefix("```\n")
		}
	case atom.Ul, atom.Ol:
		r.lines(1)
		if len(r.lists) < maxLists {
			next := -1
			if a == atom.Ol {
				next = 1
			}
			r.lists = append(r.lists, next)
		}
	case atom.Li:
		r.lines(1)
		r.prefix(r.bullet())
	case atom.Tr, atom.Dt, atom.Dd, atom.Option, atom.Figcaption, atom.Caption, atom.Summary:
		r.lines(1)
	case atom.Td, atom.Th:
		if r.breaks == 0 && r.written {
			r.text([]byte(" | "))
		}
	default:
		if paragraph(a) {
			r.lines(2)
		}
	}
}

func (r *renderer) bullet() string {
	if len(r.lists) == 0 {
		return "- "
	}
	indent := strings.Repeat("  ", len(r.lists)-1)
	last := &r.lists[len(r.lists)-1]
	if *last < 0 {
		return indent + "- "
	}
	n := *last
	*last++
	return indent + strconv.Itoa(n) + ". "
}

func (r *renderer) end(a atom.Atom) {
	if r.skip != 0 {
		if a == r.skip {
			if r.skipDepth--; r.skipDepth == 0 {
				r.skip = 0
			}
		}
		return
	}
	switch a {
	case atom.Title:
		r.inTitle = false
	case atom.A:
		r.closeLink()
	case atom.Pre:
		if r.pre == 0 {
			return
		}
		if r.pre--; r.pre == 0 && r.opt.links {
			r.out.WriteString("\n```")
		}
		r.lines(2)
	case atom.Ul, atom.Ol:
		if len(r.lists) > 0 {
			r.lists = r.lists[:len(r.lists)-1]
		}
		r.lines(1)
		if len(r.lists) == 0 {
			r.lines(2)
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.lines(2)
	case atom.Li, atom.Tr:
		r.lines(1)
	default:
		if paragraph(a) {
			r.lines(2)
		}
	}
}

// paragraph reports elements that stand apart from the text around them.
func paragraph(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Nav,
		atom.Figure, atom.Form, atom.Fieldset, atom.Table, atom.Blockquote, atom.Dl, atom.Address, atom.Details, atom.Body:
		return true
	}
	return false
}

// openLink begins a link, if its address is one that can be fetched.
func (r *renderer) openLink(href string) {
	u := r.resolve(href)
	if !r.opt.links || u == nil || r.pre > 0 {
		return
	}
	r.flush()
	r.href, r.linkAt = u.String(), r.out.Len()
	r.out.WriteByte('[')
	r.written = false
}

// closeLink ends the open link. One without text is taken back.
func (r *renderer) closeLink() {
	if r.linkAt < 0 {
		return
	}
	if len(bytes.TrimSpace(r.out.Bytes()[r.linkAt+1:])) == 0 {
		r.out.Truncate(r.linkAt)
	} else {
		r.out.WriteString("](" + r.href + ")")
	}
	r.linkAt, r.written = -1, true
}

// resolve makes an address absolute. It is nil unless it leads to the web.
func (r *renderer) resolve(href string) *url.URL {
	if href == "" || len(href) > maxURL || strings.HasPrefix(href, "#") {
		return nil
	}
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return nil
	}
	if r.opt.base != nil {
		u = r.opt.base.ResolveReference(u)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return nil
	}
	return u
}

// attribute returns one attribute of the tag at hand, looking at no more than
// 64.
func attribute(z *html.Tokenizer, more bool, name string) string {
	for n := 0; more && n < 64; n++ {
		var key, value []byte
		key, value, more = z.TagAttr()
		if string(key) == name {
			return string(value)
		}
	}
	return ""
}
