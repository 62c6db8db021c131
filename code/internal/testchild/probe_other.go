//go:build !linux

package main

import "os"

// probe has nothing to prove here: there is no filter of system calls.
func probe(string) { os.Exit(9) }
