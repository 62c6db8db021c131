package rank

import (
	"embed"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

//go:embed data/*.txt
var data embed.FS

// lexicon is what the ranker knows of English and of software terms. Its
// files under data/ say where each list comes from. All keys are stems as
// stem makes them, except those of stop, filler and mend, which are words.
type lexicon struct {
	stop    map[string]struct{}
	filler  map[string]struct{}
	mend    map[string]string
	family  map[string]string   // stem → class of its family
	alike   map[string][]string // stem → stems of words for the same thing
	intents map[string][]intent // first stem of a phrase → what the phrase implies
}

// intent is one phrase and what tools for it are called.
type intent struct {
	rest  []string // the stems after the first
	terms []string // stems that the phrase adds
}

// words reads the embedded lists once, at the first use.
var words = sync.OnceValue(loadLexicon)

func loadLexicon() *lexicon {
	l := &lexicon{
		stop:    map[string]struct{}{},
		filler:  map[string]struct{}{},
		mend:    map[string]string{},
		family:  map[string]string{},
		alike:   map[string][]string{},
		intents: map[string][]intent{},
	}
	for line := range lines("stop") {
		for w := range strings.FieldsSeq(line) {
			l.stop[w] = struct{}{}
		}
	}
	for line := range lines("filler") {
		for w := range strings.FieldsSeq(line) {
			l.filler[w] = struct{}{}
		}
	}
	l.addMends()
	for line := range lines("families") {
		l.addFamily(strings.Fields(line))
	}
	for line := range lines("alike") {
		l.addAlike(strings.Fields(line))
	}
	for line := range lines("intents") {
		l.addIntents(line)
	}
	return l
}

// lines yields the lines of a list that are neither blank nor comments.
func lines(name string) func(yield func(string) bool) {
	raw, err := data.ReadFile("data/" + name + ".txt")
	if err != nil { // the file is part of the program
		panic("rank: embedded list: " + err.Error())
	}
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(string(raw), "\n") {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// addMends reads the words that keep their own stem, then those that share
// one with another word.
func (l *lexicon) addMends() {
	for line := range lines("mend") {
		if w, stem, ok := strings.Cut(line, " "); ok && w == stem {
			l.mend[w] = w
		}
	}
	for line := range lines("mend") {
		if w, base, ok := strings.Cut(line, " "); ok && w != base {
			l.mend[w] = l.stemString(base)
		}
	}
}

// addFamily gives every word of the line the class of the first.
func (l *lexicon) addFamily(family []string) {
	head := l.snowball(family[0])
	for _, w := range family {
		stem := l.stemString(w)
		if _, taken := l.family[stem]; !taken {
			l.family[stem] = head
		}
	}
}

func (l *lexicon) addAlike(group []string) {
	for i, w := range group {
		stem := l.stemString(w)
		for j, other := range group {
			if i != j {
				l.alike[stem] = append(l.alike[stem], l.stemString(other))
			}
		}
	}
}

func (l *lexicon) addIntents(line string) {
	phrases, adds, ok := strings.Cut(line, "=>")
	if !ok {
		return
	}
	var terms []string
	for w := range strings.FieldsSeq(adds) {
		terms = append(terms, l.stemString(w))
	}
	for phrase := range strings.SplitSeq(phrases, ",") {
		var stems []string
		for w := range strings.FieldsSeq(phrase) {
			stems = append(stems, l.stemString(w))
		}
		if len(stems) > 0 {
			l.intents[stems[0]] = append(l.intents[stems[0]], intent{stems[1:], terms})
		}
	}
}

func (l *lexicon) stemString(w string) string { return string(l.stem(nil, []byte(w))) }

// stem appends the stem of the word w to dst. w is not changed.
func (l *lexicon) stem(dst, w []byte) []byte {
	if mended, ok := l.mend[string(w)]; ok {
		return append(dst, mended...)
	}
	n := len(dst)
	dst = append(dst, w...)
	return dst[:n+len(inflect(dst[n:]))]
}

// class names the family of a word: words of one class are derived from one
// another. It is a Snowball stem, the family's where families.txt knows better.
func (l *lexicon) class(w string, stem []byte) string {
	if head, ok := l.family[string(stem)]; ok {
		return head
	}
	return l.snowball(w)
}

func (l *lexicon) snowball(w string) string {
	if mended, ok := l.mend[w]; ok {
		return mended
	}
	if len(w) > maxToken || !letters([]byte(w)) {
		return w
	}
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}
