//go:build !linux

package cli

import "os"

// dropTypedAhead does nothing here: there is no portable way.
func dropTypedAhead(*os.File) {}
