//go:build !unix

package core

// openFlags has nothing to add where folders hold no FIFOs.
const openFlags = 0
