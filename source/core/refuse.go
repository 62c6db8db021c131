package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/toolsearch/toolsearch/tool"
)

// refuse is a failure of a tool in its own words.
func refuse(next, format string, args ...any) *tool.Error {
	return &tool.Error{Code: tool.CodeFailed, Reason: fmt.Sprintf(format, args...), Next: next}
}

// invalid is an argument whose value the schema cannot judge.
func invalid(next, format string, args ...any) *tool.Error {
	e := refuse(next, format, args...)
	e.Code = tool.CodeInvalidArgs
	return e
}

// outside is a path that leads out of the workspace.
func (s *Source) outside(path string, err error) *tool.Error {
	return &tool.Error{
		Code:   tool.CodeBlocked,
		By:     "workspace",
		Reason: fmt.Sprintf("%q leads outside the workspace", shown(path)),
		Next:   "Use a path inside the workspace; it cannot be left, nor through a symbolic link",
		Err:    err,
	}
}

// pathError says why an operation on a path failed.
func (s *Source) pathError(op, path string, err error) error {
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	e := &tool.Error{Code: tool.CodeFailed, Err: err}
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = fmt.Sprintf("%s %q: there is no such file or folder", op, shown(path))
		e.Next = "Look at the folder with list, or find the file with grep"
		if near := s.nearest(path); near != "" {
			e.Next = "Similar names there: " + near
		}
	case errors.Is(err, fs.ErrPermission):
		e.Reason = fmt.Sprintf("%s %q: permission denied", op, shown(path))
		e.Next = "Choose another file, or ask the user to change its permissions"
	case errors.Is(err, syscall.ENOTDIR):
		e.Reason = fmt.Sprintf("%s %q: a part of the path is a file, not a folder", op, shown(path))
		e.Next = "Look at the folder with list"
	case errors.Is(err, os.ErrClosed):
		e.Code, e.Reason, e.Next = tool.CodeUnavailable, "the core tools are closed", ""
	case errors.As(err, &errno):
		e.Reason = fmt.Sprintf("%s %q: %s", op, shown(path), errno.Error())
		e.Next = "Check the path with list"
	case fromRoot(err):
		// The wall's own refusals are the only path errors without a number
		// from the operating system.
		return s.outside(path, err)
	default:
		e.Reason = fmt.Sprintf("%s %q failed", op, shown(path))
		e.Next = "Check the path with list"
	}
	return e
}

// fromRoot reports whether err names a path, as every error of os.Root does.
func fromRoot(err error) bool {
	var p *fs.PathError
	var l *os.LinkError
	return errors.As(err, &p) || errors.As(err, &l)
}

// failure turns any error into one that a model may read. The text of a
// foreign error can hold paths of this machine, so it goes to logs only.
func failure(err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Code: tool.CodeFailed, Reason: "the tool failed for a reason it does not know", Next: "Try another way", Err: err}
}

// stopped is the error of a call that ended before it had a result.
func stopped(cause error) error {
	e := &tool.Error{Code: tool.CodeCancelled, Reason: "the call was cancelled before it had a result", Err: cause}
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		e.Code, e.Reason = tool.CodeTimeout, "the call took longer than its caller allows"
		e.Next = "Ask for less at once"
	case errors.Is(cause, errClosed):
		e.Code, e.Reason = tool.CodeUnavailable, "the core tools are closed"
	}
	return e
}

// shown makes a path from outside fit for a message.
func shown(path string) string { return tool.Clean(path, 300) }
