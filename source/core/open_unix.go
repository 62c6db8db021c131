//go:build unix

package core

import "syscall"

// openFlags keeps open from waiting for the other end of a FIFO, and from
// making a terminal ours.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
