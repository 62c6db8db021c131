//go:build !unix

package store_test

import "errors"

func childFull(string) error { return errors.New("this system has no limit on the size of files") }
