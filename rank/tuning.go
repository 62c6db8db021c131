package rank

// tuning holds every number of the scorer that was chosen by measuring.
type tuning struct {
	sumf, once bool
	lead, tail int
	idfp       float64
	k1         float64            // how fast repetition saturates
	b          [NumFields]float64 // how much a field's length counts, 0 to 1
	weight     [NumFields]float64 // how much a field counts

	cover  float64 // bonus for the share of the name that is matched
	owner  float64 // bonus, as a share of the score, where the query names the owner
	clause float64 // share of the score that is the best clause's

	filler, whole, part float64 // weight of words around a request
	compound                   float64 // weights of what is added to a query
	derivation                 float64
	abbreviation               float64
	typo                       float64
	intent                     float64
	addedCap                   float64 // most that additions bring, as a share of the typed score
}

func defaultTuning() tuning {
	t := tuning{
		k1: 1.5, once: false, lead: 24, tail: 2, idfp: 1,
		cover:  0.4,
		owner:  0.2,
		clause: 0.4,
		filler: 0.3,
		whole: 0.6, part: 0.4,
		compound: 0.4,
		derivation:   0.6,
		abbreviation: 0.3,
		typo:         0.5,
		intent:       0.2,
		addedCap:     1,
	}
	t.weight = [NumFields]float64{Name: 2, Label: 1.5, Hint: 1, Description: 1, Parameter: 0.5, Owner: 0.5}
	t.b = [NumFields]float64{Name: 0.5, Label: 0.5, Hint: 0.5, Description: 0.5, Parameter: 0.7, Owner: 0.5}
	return t
}
