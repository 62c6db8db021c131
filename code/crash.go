package code

import (
	"fmt"
	"strings"
)

// crash explains a child that ended without a last frame. Go's runtime reports
// exhausted memory and an overflowing stack only by exit code 2 and a text.
func crash(end ending, l Limits) *GuestError {
	if end.code == 2 {
		for _, sign := range []string{"out of memory", "cannot allocate memory", "SIGSEGV", "stack exceeds", "stack overflow"} {
			if strings.Contains(end.stderr, sign) {
				return &GuestError{Kind: KindMemory, Name: "MemoryLimitError", Message: memoryText(l),
					Hint: "work on less data at a time: filter or page with the tools' own arguments, and return only what is needed"}
			}
		}
	}
	if end.code == -1 { // a signal: the kernel's answer to CPU time or memory used up
		return &GuestError{Kind: KindCrashed, Name: "RuntimeError", Message: "the system ended the code's process (" + end.status + "): it used up its CPU time or memory",
			Hint: "do less work or hold less data in one run"}
	}
	return &GuestError{Kind: KindCrashed, Name: "RuntimeError", Message: "the code's process ended unexpectedly (" + end.status + ")",
		Hint: "the code may use too much memory or nest too deep; simplify it"}
}

func memoryText(l Limits) string {
	return fmt.Sprintf("the code reached its memory limit of %d MiB", l.MemoryBytes>>20)
}
