//go:build unix && !linux

package procgroup

// waitUnreaped cannot be done here with what the standard library offers.
func waitUnreaped(int) bool { return false }
