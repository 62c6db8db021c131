package mcp

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"github.com/toolsearch/toolsearch/tool"
)

// Failure is the kind of a server's last failure: what to do about it.
type Failure string

// The kinds of failure.
const (
	FailureConfig    Failure = "config"    // its configuration cannot be used; LastError says what to mend
	FailureNoProgram Failure = "noProgram" // its command is not there
	FailureNoFolder  Failure = "noFolder"  // the folder it starts in is not there
	FailureSlow      Failure = "slow"      // it did not answer within its start timeout
	FailureRefused   Failure = "refused"   // nothing listens at its url
	FailureOther     Failure = "other"
)

// failureOf tells the kind of a failed start, or of the end of a connection.
func failureOf(err error) Failure {
	var start *startError
	var look *exec.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &start) && start.slow, start == nil && errors.Is(err, context.DeadlineExceeded):
		return FailureSlow
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &look) && errors.Is(look, fs.ErrNotExist):
		return FailureNoProgram
	case errors.As(err, &path) && path.Op == "fork/exec" && errors.Is(path, fs.ErrNotExist):
		return FailureNoProgram
	case errors.As(err, &path) && path.Op == "stat" && errors.Is(path, fs.ErrNotExist):
		return FailureNoFolder // startProcess looks at it
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailureRefused
	}
	return FailureOther
}

const (
	maxStderrShown = 4 << 10 // bytes of stderr in a Status
	maxStderrLine  = 240     // bytes of the one line in an error
)

// lastWords is what a server's process printed to stderr before it failed, with
// secrets hidden: the end of it, and the one line that tells most.
func (s *server) lastWords(t *tail) (all, line string) {
	all = strings.TrimSpace(tool.Clean(s.redact.hide(t.String()), 2*maxStderr))
	line = telling(all)
	if over := len(all) - maxStderrShown; over > 0 {
		all = strings.ToValidUTF8(all[over:], "")
		if _, whole, ok := strings.Cut(all, "\n"); ok {
			all = whole
		}
	}
	return all, tool.CleanLine(line, maxStderrLine)
}

// telling picks the first line that looks like an error, else the last one that
// is neither a stack frame nor an advert.
func telling(text string) string {
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if isNoise(line) {
			continue
		}
		if looksLikeError(line) {
			return line
		}
		last = line
	}
	return last
}

// isNoise reports the lines that runtimes and npm put around a cause.
func isNoise(line string) bool {
	if strings.Trim(line, "^~}{ ") == "" {
		return true
	}
	for _, prefix := range []string{"at ", "npm notice", "npm warn", "npm WARN", "node:internal", "Node.js v", "Require stack:", `File "`, "Traceback (", "goroutine "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func looksLikeError(line string) bool {
	line = strings.ToLower(line)
	for _, word := range []string{"error:", "error [", "npm error", "npm err!", "exception:", "fatal:", "panic:", "eacces", "enoent", "cannot find", "not found", "no such file", "permission denied"} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}
