// Package editdistance measures how far two words are apart, for "did you mean".
package editdistance

// Of is the optimal string alignment distance: how many elements must be put in,
// taken out, replaced or swapped with their neighbour, none of them touched
// twice. Time is len(a)·len(b), so callers bound their words.
func Of[T comparable](a, b []T) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
