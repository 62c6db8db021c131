//go:build !unix

package plugin

const nonblock = 0
