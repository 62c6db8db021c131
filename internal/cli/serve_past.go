package cli

import (
	"context"
	"errors"
	"time"

	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/transcript"
)

// servedPast keeps what previous_response_id goes on from in the store.
type servedPast struct {
	store    *store.Store
	redactor *transcript.Redactor
}

// Put writes a conversation, without what the transcript leaves out too.
func (p servedPast) Put(ctx context.Context, caller, id string, body []byte, until time.Time) error {
	return p.store.PutResponse(ctx, store.Response{Caller: caller, ID: id, Body: p.redactor.JSON(body), Expires: until})
}

// Get reads a conversation; nil when there is none.
func (p servedPast) Get(ctx context.Context, caller, id string) ([]byte, error) {
	r, err := p.store.Response(ctx, caller, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return r.Body, err
}
