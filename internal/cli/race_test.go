//go:build race

package cli_test

// raceDetector says that processes of this binary need several times the memory.
const raceDetector = true
