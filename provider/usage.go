package provider

import "strconv"

// maxCount is more than any model could ever count, and far from an overflow of
// sums.
const maxCount = 1 << 40

// ReadCount reads a number of tokens that a model's API tells, brought into
// 0…2^40: limits are held against sums of them, and a count that is absurd must
// not pass for none. What is no number reads as 0.
func ReadCount(raw []byte) int {
	n, _ := strconv.ParseFloat(string(raw), 64) // infinite for one too long
	return int(min(max(n, 0), maxCount))
}
