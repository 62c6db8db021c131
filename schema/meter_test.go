package schema

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimed has matches that take their time from the bubble's clock, and a
// library that cuts them off when it likes.
func TestTimed(t *testing.T) {
	cut := errors.New("match timeout")
	const never = -1
	for name, c := range map[string]struct {
		takes   time.Duration // each match
		cuts    int           // matches that are cut off before one is not
		spent   time.Duration // by the matches before
		decided bool
		tries   int
	}{
		"at once":                           {0, 0, 0, true, 1},
		"nearly too long":                   {patternBudget - 1, 0, 0, true, 1},
		"too long":                          {patternBudget, 0, 0, false, 1},
		"little, of which nothing was left": {2, 0, patternBudget - 1, false, 1},
		"cut off in time":                   {patternBudget, never, 0, false, 1},
		"cut off too early, then not":       {time.Millisecond, 3, 0, true, 4},
		"cut off too early, late in time":   {patternBudget - 1, never, 0, false, 2},
		"cut off too early for ever":        {0, never, 0, false, maxEarly},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := meter{patterns: c.spent}
				tries := 0
				ok, decided := m.timed(func() (bool, error) {
					tries++
					time.Sleep(c.takes) // of the bubble's clock
					if c.cuts == never || tries <= c.cuts {
						return false, cut
					}
					return true, nil
				})
				if ok != c.decided || decided != c.decided || tries != c.tries {
					t.Errorf("%v, decided %v after %d matches, want %v after %d", ok, decided, tries, c.decided, c.tries)
				}
			})
		})
	}
}
