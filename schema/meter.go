package schema

import (
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSteps bounds the work of one validation. A step is about one comparison
// of a value with one schema. Applicators multiply: a schema of a hundred
// lines can ask for 2^50 of them.
// Explaining what is wrong gets fewer, since it keeps what it finds.
const (
	maxSteps        = 500_000
	maxExplainSteps = 100_000
)

// undecided ends a validation that runs over a bound. It travels as a panic
// through the validator, which has no other way out, and is always recovered
// by Compiled.run.
type undecided struct{ constraint, message string }

// meter counts the work of the validation that is running. Compiled's lock
// guards it.
type meter struct {
	left     int           // steps
	patterns time.Duration // spent in backtracking matches
}

// timed makes one backtracking match, whose error is that it was cut off. It
// reports false when the match cannot be decided within its time. The library's
// clock stands still while this process waits for the machine, and then jumps:
// a match that it cut off too early is made again.
func (m *meter) timed(match func() (bool, error)) (ok, decided bool) {
	for range maxEarly {
		start := time.Now()
		ok, err := match()
		if m.patterns += time.Since(start); m.patterns >= patternBudget {
			break
		}
		if err == nil {
			return ok, true
		}
	}
	return false, false
}

func (m *meter) reset(steps int) { *m = meter{left: steps} }

func (m *meter) spend(steps int) {
	if m.left -= steps; m.left < 0 {
		panic(&undecided{"work", "checking this value against the schema takes too many steps, so it counts as broken; send a smaller value"})
	}
}

// format returns a format check that never fails and charges a visit of s to
// the meter. The validator runs it before anything that could multiply. It
// takes the place of the schema's own format, which is an annotation here.
func (m *meter) format(s *jsonschema.Schema) *jsonschema.Format {
	visit := 1 + len(s.Required)
	for _, part := range inPlace(s) {
		visit += earlyCost(part)
	}
	element, member := 1, 1+len(s.PatternProperties)
	for _, part := range below(s) {
		element, member = max(element, earlyCost(part)), max(member, earlyCost(part))
	}
	if s.UniqueItems {
		element += 20 // up to twenty items are compared pair by pair
	}
	return &jsonschema.Format{Name: "metered", Validate: func(v any) error {
		switch v := v.(type) {
		case string:
			m.spend(visit + len(v)/512)
		case []any:
			m.spend(visit + len(v)*element)
		case map[string]any:
			m.spend(visit + len(v)*member)
		default:
			m.spend(visit)
		}
		return nil
	}}
}

// earlyCost is the work a visit of s may take before its format is reached:
// comparing with each value of an enum.
func earlyCost(s *jsonschema.Schema) int {
	if s.Enum == nil {
		return 1
	}
	cost := 1
	for _, v := range s.Enum.Values {
		if _, ok := v.(string); ok {
			continue
		}
		cost++ // numbers are compared as fractions
	}
	return cost + len(s.Enum.Values)/16
}
