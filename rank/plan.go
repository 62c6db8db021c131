package rank

import "math"

// unit is the weight 1 of a query term. Weights are integers so that scores
// are exact sums.
const unit = 256

// maxWeight bounds the sum of a plan's weights, so that no score overflows 32
// bits, the owner's bonus of at most a quarter included: 1.25 × maxWeight × 65535
// < 2³².
const maxWeight = math.MaxUint16 / 5 * 4

// maxExpansion bounds the terms that one typed word brings with it.
const maxExpansion = 16

// plan is a query made ready to score.
type plan struct {
	toks    tokens
	stems   []byte
	stemAt  []span // stem of each token
	typed   []typedWord
	terms   []term // of all typed words, in their order
	repairs []repair
	shapes  []shaped
	clauses int
	weight  uint32 // sum of the weights of terms
	cover   uint32 // coverage of a document that answers the query
	key     []byte // the query as a name
}

type span struct{ start, end uint32 }

// typedWord is one distinct word of the query.
type typedWord struct {
	tok    uint32 // its token
	term   uint32 // its term, or none if the catalog does not know it
	weight uint32
	cover  uint32 // what an answer to it is worth, see weak.go
	clause uint8
	filler bool
	known  bool // something in the catalog answers it, if only an addition
}

// term is one term to look up in the index.
type term struct {
	id     uint32
	weight uint32
	word   uint32 // index into typed
	cover  uint32 // what it adds to the coverage of the query
	clause uint8
	why    Why
	filler bool
}

type repair struct{ word, term uint32 }

func (p *plan) reset() {
	p.toks.reset()
	p.stems, p.stemAt, p.typed = p.stems[:0], p.stemAt[:0], p.typed[:0]
	p.terms, p.repairs, p.key = p.terms[:0], p.repairs[:0], p.key[:0]
	p.shapes = p.shapes[:0]
	p.clauses, p.weight, p.cover = 0, 0, 0
}

func (p *plan) stem(i int) []byte { s := p.stemAt[i]; return p.stems[s.start:s.end] }

// read makes the plan of a query.
func (x *Index) read(p *plan, text string) {
	p.reset()
	lex := words()
	text = clip(text, MaxQueryBytes)
	p.key = normal(p.key, trim(text))
	p.scanQuery(text)
	for _, k := range p.toks.list {
		start := len(p.stems)
		p.stems = lex.stem(p.stems, p.toks.bytes(k))
		p.stemAt = append(p.stemAt, span{uint32(start), uint32(len(p.stems))})
	}
	x.readWords(p, lex)
	if len(p.typed) == 0 {
		return
	}
	p.countClauses()
	for i := range p.typed {
		w := &p.typed[i]
		if w.term != none {
			p.add(term{id: w.term, weight: w.weight, word: uint32(i), clause: w.clause, filler: w.filler})
			w.known = true
		}
		if !w.filler {
			x.expand(p, lex, uint32(i))
		}
	}
	x.compounds(p)
	x.repairTypos(p)
	x.readIntents(p, lex)
	x.cover(p)
}

// scanQuery tokenizes the text and notes the kinds of its values.
func (p *plan) scanQuery(text string) {
	done := 0
	eachValue(text, func(end int, kind shape) {
		if len(p.shapes) == maxShapes {
			return
		}
		p.toks.scan(text[done:end], maxQueryWords)
		p.shapes = append(p.shapes, shaped{kind, uint32(len(p.toks.list))})
		done = end
	})
	p.toks.scan(text[done:], maxQueryWords)
}

// maxShapes bounds the values of a query that are looked at for their kind.
const maxShapes = 8

// shaped is a kind of value, found before token tok.
type shaped struct {
	kind shape
	tok  uint32
}

// readWords collects the distinct words of the query that are not stop words.
func (x *Index) readWords(p *plan, lex *lexicon) {
	content := false
	for i, k := range p.toks.list {
		if len(p.typed) == maxTyped {
			break
		}
		w := p.toks.bytes(k)
		if _, stop := lex.stop[string(w)]; stop || p.seen(i) {
			continue
		}
		t := x.term(p.stem(i))
		if t == none && k.kind != word && k.kind != gram {
			continue // an extra form that the catalog does not have
		}
		_, filler := lex.filler[string(w)]
		filler = filler || number(w)
		content = content || !filler
		p.typed = append(p.typed, typedWord{tok: uint32(i), term: t, weight: unit, clause: k.clause, filler: filler})
	}
	for i := range p.typed {
		switch w := &p.typed[i]; {
		case !content:
			w.filler = false
		case w.filler:
			w.weight = scaled(x.tune.filler)
		case p.toks.list[w.tok].kind == joined:
			w.weight = scaled(x.tune.whole)
			for j := max(0, i-2); j < i; j++ {
				if p.parts(w.tok, p.typed[j].tok) {
					p.typed[j].weight = scaled(x.tune.part)
				}
			}
		}
	}
}

// parts reports whether token part is one of the two parts of the joined token,
// which stand before it, each perhaps with the letters of a part that ends in
// digits.
func (p *plan) parts(joined, part uint32) bool {
	return part < joined && joined-part <= 4 && p.toks.list[part].kind == word
}

// named reports a word that looks like a name: a value of the request, which
// no tool need know.
func (p *plan) named(w *typedWord) bool {
	return p.toks.list[w.tok].capital && w.tok > 0
}

// number reports a word of digits: in a request it is a value, seldom a name.
func number(w []byte) bool {
	for _, c := range w {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// seen reports whether an earlier typed word has the stem of token i.
func (p *plan) seen(i int) bool {
	for _, w := range p.typed {
		if string(p.stem(int(w.tok))) == string(p.stem(i)) {
			return true
		}
	}
	return false
}

// countClauses numbers the clauses that have words from 0. A request of one
// clause, or of very short ones, is left whole.
func (p *plan) countClauses() {
	n, last := 0, -1
	for i := range p.typed {
		w := &p.typed[i]
		if int(w.clause) != last {
			last = int(w.clause)
			n++
		}
		w.clause = uint8(n - 1)
	}
	if len(p.typed) < 4 {
		n = 1
	}
	p.clauses = n
}

// add appends a term unless the plan is full.
func (p *plan) add(t term) {
	if t.weight == 0 || p.weight+t.weight > maxWeight {
		return
	}
	p.weight += t.weight
	p.terms = append(p.terms, t)
}

func scaled(w float64) uint32 { return uint32(math.Round(w * unit)) }

// expand adds what one typed word means besides itself.
func (x *Index) expand(p *plan, lex *lexicon, word uint32) {
	w := &p.typed[word]
	stem := p.stem(int(w.tok))
	before := len(p.terms)
	add := func(t uint32, weight float64, why Why) {
		if t == none || t == w.term || len(p.terms)-before >= maxExpansion {
			return
		}
		for _, have := range p.terms[before:] {
			if have.id == t {
				return
			}
		}
		p.add(term{id: t, weight: uint32(float64(w.weight) * weight), word: word, clause: w.clause, why: why})
	}
	class := none
	if w.term != none {
		class = x.classOfTerm(w.term)
	} else {
		class = x.class([]byte(lex.class(string(p.toks.bytes(p.toks.list[w.tok])), stem)))
	}
	if class != none {
		for _, list := range x.membersOf(class) {
			for _, t := range list {
				add(t, x.tune.derivation, Derivation)
			}
		}
	}
	for _, other := range lex.alike[string(stem)] {
		add(x.term([]byte(other)), x.tune.abbreviation, Abbreviation)
	}
	w.known = w.known || len(p.terms) > before
}

// readIntents adds the terms of the phrases that the query has.
func (x *Index) readIntents(p *plan, lex *lexicon) {
	before := len(p.terms)
	for _, sh := range p.shapes {
		for _, in := range lex.intents[string(sh.kind)] {
			for _, s := range in.terms {
				x.addIntent(p, []byte(s), before, int(sh.tok))
			}
		}
	}
	for i := range p.toks.list {
		for _, in := range lex.intents[string(p.stem(i))] {
			if !p.follows(i+1, in.rest) {
				continue
			}
			for _, s := range in.terms {
				x.addIntent(p, []byte(s), before, i)
			}
		}
	}
}

func (x *Index) addIntent(p *plan, stem []byte, before, tok int) {
	t := x.term(stem)
	if t == none || len(p.terms)-before >= maxExpansion {
		return
	}
	for _, have := range p.terms {
		if have.id == t {
			return
		}
	}
	word := uint32(0)
	for i, w := range p.typed {
		if int(w.tok) <= tok {
			word = uint32(i)
		}
	}
	p.add(term{id: t, weight: scaled(x.tune.intent), word: word, clause: p.typed[word].clause, why: Intent})
}

// follows reports whether the tokens from i on are the given stems.
func (p *plan) follows(i int, stems []string) bool {
	if i+len(stems) > len(p.toks.list) {
		return false
	}
	for j, s := range stems {
		if string(p.stem(i+j)) != s {
			return false
		}
	}
	return true
}

func trim(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
