package rank

import (
	"cmp"
	"slices"
)

// explain lists the terms of the plan that the document matched, the heaviest
// first.
func (x *Index) explain(p *plan, doc uint32) []Reason {
	var out []Reason
	for i := range p.terms {
		t := &p.terms[i]
		imp, mask, ok := x.posting(t.id, doc)
		if !ok {
			continue
		}
		r := Reason{
			Term:  string(x.word(t.id)),
			Typed: string(p.toks.bytes(p.toks.list[p.typed[t.word].tok])),
			Score: float64(t.weight) * float64(imp) / unit / x.scale,
			Why:   t.why,
		}
		if t.why == Typed && !t.filler {
			r.Tier = Literal
		}
		for f := Field(0); f < NumFields; f++ {
			if mask&(1<<f) != 0 {
				r.Fields = append(r.Fields, f)
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reason) int { return cmp.Compare(b.Score, a.Score) })
	return out
}
