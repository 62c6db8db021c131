package rank

// tuning holds the numbers of the scorer that were chosen by measuring recall
// on several public sets of tools and queries, in step and together: each is
// on a plateau, where half as much or twice as much costs little.
type tuning struct {
	k1     float64            // how fast repetition saturates
	b      [NumFields]float64 // how much a field's length counts, 0 to 1
	weight [NumFields]float64 // how much a field counts

	// A description says first what a tool does, and then its caveats: words
	// after the first lead ones count tail quarters.
	lead int
	tail int

	cover  float64 // bonus for the share of the name that is matched
	owner  float64 // bonus, as a share of the score, where the query names the owner
	clause float64 // share of the score that is the best clause's

	filler float64 // weight of words around a request
	whole  float64 // weight of a camelCase word that the catalog has whole
	part   float64 // weight of its parts beside it

	compound     float64 // weights of what is added to a query
	derivation   float64
	abbreviation float64
	typo         float64
	intent       float64
	addedCap     float64 // most that additions bring, as a share of the typed score
}

func defaultTuning() tuning {
	return tuning{
		k1:           1.5,
		b:            [NumFields]float64{Name: 0.8, Label: 0.5, Hint: 0.5, Description: 0.65, Parameter: 0.85, Owner: 0.5},
		weight:       [NumFields]float64{Name: 2.3, Label: 1.5, Hint: 1, Description: 1, Parameter: 0.65, Owner: 0.5},
		lead:         20,
		tail:         1,
		cover:        0.65,
		owner:        0.2,
		clause:       0.25,
		filler:       0.375,
		whole:        0.6,
		part:         0.4,
		compound:     0.4,
		derivation:   0.4,
		abbreviation: 0.3,
		typo:         0.5,
		intent:       0.15,
		addedCap:     1,
	}
}
