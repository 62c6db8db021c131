package eval

import "math"

// cuts are the ranks at which recall is taken.
var cuts = [...]int{1, 3, 5, 8, 10, 20}

// metrics are the figures of one query, or their sum over many.
type metrics struct {
	recall [len(cuts)]float64
	ndcg   float64
	mrr    float64
	n      int
}

// measure compares an answer with the gold of its query. A gold id is found at
// the best rank of itself or one of its alternatives; each ranked id serves one
// gold id only. Gold ids that no answer can hold count as missed.
//
//   - recall@k is the share of the gold ids found in the first k;
//   - nDCG@10 gives 1/log2(rank+1) for each gold id found in the first 10,
//     divided by what the best possible answer gets;
//   - MRR is 1/rank of the first gold id found.
func measure(q Query, ids []string) metrics {
	m := metrics{n: 1}
	ranks := goldRanks(q, ids)
	ideal, first := 0.0, 0
	for i, rank := range ranks {
		if i < 10 {
			ideal += gain(i + 1)
		}
		if rank == 0 {
			continue
		}
		if first == 0 || rank < first {
			first = rank
		}
		if rank <= 10 {
			m.ndcg += gain(rank)
		}
		for c, k := range cuts {
			if rank <= k {
				m.recall[c] += 1 / float64(len(ranks))
			}
		}
	}
	if ideal > 0 {
		m.ndcg /= ideal
	}
	if first > 0 {
		m.mrr = 1 / float64(first)
	}
	return m
}

func gain(rank int) float64 { return 1 / math.Log2(float64(rank)+1) }

// goldRanks returns the rank from 1 of each distinct gold id, 0 if it was not
// found.
func goldRanks(q Query, ids []string) []int {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		if at[id] == 0 {
			at[id] = i + 1
		}
	}
	gold := make([]string, 0, len(q.Gold))
	seen := make(map[string]bool, len(q.Gold))
	for _, g := range q.Gold {
		if !seen[g] {
			seen[g] = true
			gold = append(gold, g)
		}
	}
	ranks := make([]int, len(gold))
	used := make(map[int]bool, len(gold))
	for i, g := range gold { // a gold id itself is never another's alternative first
		if r := at[g]; r > 0 {
			ranks[i] = r
			used[r] = true
		}
	}
	for i, g := range gold {
		for _, alt := range q.Alt[g] {
			if r := at[alt]; r > 0 && !used[r] && (ranks[i] == 0 || r < ranks[i]) {
				ranks[i] = r
			}
		}
		used[ranks[i]] = true
	}
	return ranks
}

func (m *metrics) add(o metrics) {
	for i := range m.recall {
		m.recall[i] += o.recall[i]
	}
	m.ndcg += o.ndcg
	m.mrr += o.mrr
	m.n += o.n
}

// percent writes the averages into the report.
func (m *metrics) percent(r *Report) {
	if m.n == 0 {
		return
	}
	avg := func(x float64) float64 { return round1(100 * x / float64(m.n)) }
	r.R1, r.R3, r.R5 = avg(m.recall[0]), avg(m.recall[1]), avg(m.recall[2])
	r.R8, r.R10, r.R20 = avg(m.recall[3]), avg(m.recall[4]), avg(m.recall[5])
	r.NDCG10, r.MRR = avg(m.ndcg), avg(m.mrr)
}
