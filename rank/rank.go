package rank

// Field is a part of a document. Fields count differently: see tuning.
type Field uint8

// The fields, heaviest first.
const (
	Name Field = iota
	Label
	Hint
	Description
	Parameter
	Owner
	NumFields
)

var fieldNames = [NumFields]string{"name", "label", "hint", "description", "parameter", "owner"}

// String returns the field's name in lower case.
func (f Field) String() string {
	if f < NumFields {
		return fieldNames[f]
	}
	return "unknown"
}

// Document is one thing to be found. Text[Name] is normally Name; the plain
// ID and Name serve exact matches and break ties.
type Document struct {
	ID   string
	Name string
	Text [NumFields]string
}

// Bounds. Text beyond them is not read; it is never an error.
const (
	MaxLimit      = 1000    // hits of one answer
	MaxQueryBytes = 4 << 10 // bytes of a query that are read
	maxQueryWords = 600     // tokens of a query that are read
	maxTyped      = 128     // distinct words of a query that are searched
	maxFieldBytes = 32 << 10
	maxFieldWords = 2000
	maxDocuments  = 1 << 24
)

// Query is one search.
type Query struct {
	Text    string
	Limit   int  // most hits to return, 1 to MaxLimit; below 1 none
	Explain bool // fill Hit.Reasons
	// Keep, when not nil, says which documents are looked at; others are as if they
	// did not match. It is asked of each that matches, so it ought to be quick.
	Keep func(doc int) bool
}

// Tier is the first thing that orders an answer.
type Tier uint8

// The tiers, lowest first.
const (
	Added   Tier = iota // matches only what was added to the query
	Literal             // matches a word that was typed, in any inflection
	Exact               // its name or id is the query
)

var tierNames = [...]string{"added", "literal", "exact"}

// String returns the tier's name in lower case.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return "unknown"
}

// Why says how a term came into the query.
type Why uint8

// The ways, by falling strength.
const (
	Typed        Why = iota // typed, letter for letter or in another inflection
	Compound                // two typed words joined, or one split in two
	Derivation              // derived from a typed word: translation, translate
	Abbreviation            // means the same as a typed word: repo, repository
	Typo                    // a repair of a typed word that the catalog does not know
	Intent                  // what such a request is usually called
)

var whyNames = [...]string{"literal", "compound", "derivation", "abbreviation", "typo", "intent"}

// String returns the way's name in lower case.
func (w Why) String() string {
	if int(w) < len(whyNames) {
		return whyNames[w]
	}
	return "unknown"
}

// Reason is one term that a hit matched.
type Reason struct {
	Fields []Field // where it was found, heaviest first
	Term   string  // the word as the catalog has it
	Typed  string  // the word of the query that brought it
	Score  float64 // what it added to the score, before clauses are weighed
	Why    Why
	Tier   Tier // the tier that this match alone would give
}

// Hit is one document found.
type Hit struct {
	Doc     int // index into the documents given to Build
	Score   float64
	Tier    Tier
	Weak    bool // matches too little of what was typed to be relied on
	Reasons []Reason
}

// Repair is a typed word that was read as another.
type Repair struct {
	Typed string
	Read  string
}

// Result is the answer to a query.
type Result struct {
	Hits []Hit
	// Total is how many documents match a typed word or, where fewer than
	// Limit do, match at all.
	Total   int
	Weak    bool // there are hits and all are weak
	Repairs []Repair
}
