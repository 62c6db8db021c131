package rank_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/rank"
)

// A score holds the longest query, of which the document has every word, all that
// is added to each, and the owner.
func TestHighestScore(t *testing.T) {
	const consonants = "bdfgklmnprtv"
	var typed, all []string
	for i := range 128 {
		stem := fmt.Sprintf("%ca%cad", consonants[i/12], consonants[i%12])
		typed = append(typed, stem+"ate")
		all = append(all, stem+"ate", stem+"ation", stem+"ator", stem+"ative")
	}
	d := rank.Document{ID: "one", Name: "one"}
	d.Text[rank.Name], d.Text[rank.Owner] = strings.Join(all, " "), typed[0]
	d.Text[rank.Label], d.Text[rank.Hint], d.Text[rank.Parameter] = d.Text[rank.Name], d.Text[rank.Name], d.Text[rank.Name]
	res := rank.Build([]rank.Document{d}).Search(rank.Query{Text: strings.Join(typed, " "), Limit: 1, Explain: true})
	if len(res.Hits) != 1 {
		t.Fatalf("%d hits", len(res.Hits))
	}
	sum, added := 0.0, 0.0
	for _, r := range res.Hits[0].Reasons {
		if r.Why == rank.Typed {
			sum += r.Score
		} else {
			added += r.Score
		}
	}
	if h := res.Hits[0]; h.Score < sum || added < sum/2 {
		t.Errorf("the score is %v, of which what was typed adds %v and what was added to it %v", h.Score, sum, added)
	}
}
