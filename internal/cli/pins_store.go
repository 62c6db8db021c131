package cli

import (
	"context"
	"errors"
	"time"

	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
)

// pinStore keeps pins in the store.
type pinStore struct{ store *store.Store }

func (p pinStore) Get(ctx context.Context, server, tool string) (pin.Pin, bool, error) {
	row, err := p.store.Pin(ctx, server, tool)
	if errors.Is(err, store.ErrNotFound) {
		return pin.Pin{}, false, nil
	}
	return pinOf(row), err == nil, err
}

func (p pinStore) List(ctx context.Context, server string) ([]pin.Pin, error) {
	rows, err := p.store.Pins(ctx, server)
	if err != nil {
		return nil, err
	}
	out := make([]pin.Pin, len(rows))
	for i, r := range rows {
		out[i] = pinOf(r)
	}
	return out, nil
}

func (p pinStore) Add(ctx context.Context, pins []pin.Pin) error {
	return p.store.AddPins(ctx, pinRows(pins))
}

func (p pinStore) Put(ctx context.Context, pins []pin.Pin) error {
	return p.store.PutPins(ctx, pinRows(pins))
}

func (p pinStore) Accept(ctx context.Context, server, tool, digest string, at time.Time) (bool, error) {
	return p.store.AcceptPin(ctx, server, tool, digest, at)
}

func pinRows(pins []pin.Pin) []store.Pin {
	rows := make([]store.Pin, len(pins))
	for i, p := range pins {
		rows[i] = store.Pin{
			Server: p.Server, Tool: p.Tool, Digest: p.Digest, Definition: p.Definition, Status: store.PinAccepted,
			FirstSeen: p.FirstSeen, Accepted: p.AcceptedAt,
			OfferedDigest: p.OfferedDigest, OfferedDefinition: p.OfferedDefinition, Offered: p.OfferedAt,
		}
		if p.OfferedDigest != "" {
			rows[i].Status = store.PinChanged
		}
	}
	return rows
}

func pinOf(r store.Pin) pin.Pin {
	return pin.Pin{
		Server: r.Server, Tool: r.Tool, Digest: r.Digest, Definition: nilIfEmpty(r.Definition),
		FirstSeen: r.FirstSeen, AcceptedAt: r.Accepted,
		OfferedDigest: r.OfferedDigest, OfferedDefinition: nilIfEmpty(r.OfferedDefinition), OfferedAt: r.Offered,
	}
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
