//go:build unix && !linux

package core_test

import "io/fs"

// makeNullDevice is only needed where device numbers are known.
func makeNullDevice(string) error { return fs.ErrPermission }
