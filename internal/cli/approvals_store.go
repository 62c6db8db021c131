package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/store"
)

// openApprovals opens the user's approvals and marks those that expired.
func openApprovals(ctx context.Context, app *app) (approval.Store, func(), error) {
	s, done, err := app.openStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	out := approvalStore{s}
	if _, err := out.Expire(ctx, time.Now()); err != nil {
		done()
		return nil, nil, storeError(err)
	}
	return out, done, nil
}

// approvalStore lets the gate keep its records in the program's store.
type approvalStore struct{ store *store.Store }

var _ approval.Store = approvalStore{}

// Put implements approval.Store.
func (a approvalStore) Put(ctx context.Context, r approval.Record) error {
	err := a.store.PutApproval(ctx, store.Approval{
		ID: r.ID, Created: r.Created, Expires: r.Expires,
		Caller: r.Caller, Agent: r.Agent, Session: r.Session, Run: r.Run,
		Tool: r.Tool, ArgsDigest: r.Digest, Args: r.Args, Folder: r.Folder, PolicyVersion: r.PolicyVersion,
		State: store.ApprovalState(r.State), Scope: store.ApprovalScope(r.Scope), Pattern: r.Pattern,
		DecidedBy: r.DecidedBy, Decided: r.Decided, Reason: r.Reason,
	})
	if errors.Is(err, store.ErrLimit) {
		return fmt.Errorf("%w: %w", approval.ErrFull, err)
	}
	return err
}

// Get implements approval.Store.
func (a approvalStore) Get(ctx context.Context, id string) (approval.Record, error) {
	r, err := a.store.Approval(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return approval.Record{}, fmt.Errorf("%w: %w", approval.ErrNotFound, err)
	}
	return recordOf(r), err
}

// Find implements approval.Store; it returns at most store.MaxPage records.
func (a approvalStore) Find(ctx context.Context, q approval.Query) ([]approval.Record, error) {
	found, err := a.store.Approvals(ctx, store.ApprovalFilter{
		State: store.ApprovalState(q.State), Scope: store.ApprovalScope(q.Scope), Caller: q.Caller, Tool: q.Tool,
	})
	out := make([]approval.Record, len(found))
	for i, r := range found {
		out[i] = recordOf(r)
	}
	return out, err
}

// Change implements approval.Store.
func (a approvalStore) Change(ctx context.Context, id string, c approval.Change) (bool, error) {
	return a.store.ChangeApproval(ctx, id, store.ApprovalChange{
		From: store.ApprovalState(c.From), To: store.ApprovalState(c.To), Scope: store.ApprovalScope(c.Scope),
		Pattern: c.Pattern, DecidedBy: c.DecidedBy, Reason: c.Reason, Expires: c.Expires, At: c.At,
	})
}

// Expire implements approval.Store.
func (a approvalStore) Expire(ctx context.Context, now time.Time) (int, error) {
	return a.store.ExpireApprovals(ctx, now)
}

func recordOf(a store.Approval) approval.Record {
	return approval.Record{
		ID: a.ID, Created: a.Created, Expires: a.Expires,
		Caller: a.Caller, Agent: a.Agent, Session: a.Session, Run: a.Run,
		Tool: a.Tool, Digest: a.ArgsDigest, Args: a.Args, Folder: a.Folder, PolicyVersion: a.PolicyVersion,
		State: approval.State(a.State), Scope: approval.Scope(a.Scope), Pattern: a.Pattern,
		DecidedBy: a.DecidedBy, Decided: a.Decided, Reason: a.Reason,
	}
}
