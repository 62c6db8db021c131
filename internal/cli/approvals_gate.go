package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/transcript"
)

// gateOptions are what a run's approval gate is made of.
type gateOptions struct {
	rules         *approval.Rules
	policyVersion string               // policy.Policy.Fingerprint
	expiry        time.Duration        // of a request; 0 means the default
	wait          time.Duration        // for an answer from another process
	elicit        *server.Elicitation  // nil outside of an MCP server
	redactor      *transcript.Redactor // nil keeps arguments as they are
}

// newGate makes the approval gate over a store, see openApprovals.
func (a *app) newGate(s approval.Store, opt gateOptions) (*approval.Gate, error) {
	folder, err := workingFolder()
	if err != nil {
		return nil, err
	}
	out := approval.Options{
		Folder: folder, Rules: opt.rules, PolicyVersion: opt.policyVersion, Store: s,
		Routes: a.approvalRoutes(opt), Expiry: opt.expiry, Pause: code.Pause,
	}
	if opt.redactor != nil {
		out.Redact = opt.redactor.JSON
	}
	return approval.New(out)
}

// workingFolder is where the core tools work, by its one name.
func workingFolder() (string, error) {
	folder, err := os.Getwd()
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", fmt.Errorf("find the working folder that approvals are for: %w", err)
	}
	return folder, nil
}

// approvalRoutes are the ways to whoever can answer: the client that calls, the
// terminal, and last another process.
func (a *app) approvalRoutes(opt gateOptions) []approval.Route {
	var routes []approval.Route
	elsewhere := approval.Elsewhere{Wait: opt.wait}
	if opt.elicit != nil {
		routes = append(routes, opt.elicit)
	} else if in, ok := a.std.in.(*os.File); ok && a.std.errTTY && term.IsTerminal(int(in.Fd())) {
		routes = append(routes, approval.NewTerminal(in, a.std.err, func() { dropTypedAhead(in) }))
	} else {
		elsewhere.Waiting = func(r approval.Request) {
			fmt.Fprintf(a.std.err, "waiting for approval of %s: toolsearch approvals show %s\n", oneLine(string(r.Target.ID), 200), r.ID)
		}
	}
	return append(routes, elsewhere)
}

// approvalKeyName is the file beside the store whose key seals request states.
const approvalKeyName = "approval.key"

// approvalKey reads the key of this installation, and makes it at the first use.
func approvalKey(s *store.Store) ([]byte, error) {
	path := filepath.Join(filepath.Dir(s.Path()), approvalKeyName)
	key, err := readApprovalKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), approvalKeyName+".*") // for its owner alone
	if err != nil {
		return nil, fmt.Errorf("make the key of approvals: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // what is linked stays
	key = make([]byte, approval.KeySize)
	_, _ = rand.Read(key) // never fails, by its contract
	_, err = tmp.Write(key)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("make the key of approvals: %w", err)
	}
	// A link appears whole, and of several processes one makes it.
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the key of approvals: %w", err)
	}
	return readApprovalKey(path)
}

func readApprovalKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key of approvals: %w", err)
	}
	if len(key) != approval.KeySize {
		return nil, hintError{
			fmt.Errorf("read the key of approvals: %s has %d bytes, not %d", path, len(key), approval.KeySize),
			"delete the file; what clients were asked before it will be asked again",
		}
	}
	return key, nil
}
