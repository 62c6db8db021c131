package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/internal/store"
)

func TestConversations(t *testing.T) {
	now := time.Now()
	s := open(t, store.Options{
		Now:      func() time.Time { return now },
		MaxBytes: 64 << 20,
	})
	ctx := t.Context()
	if _, err := s.Conversation(ctx, "s"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a conversation that never was: %v", err)
	}
	for _, body := range []string{`{"a":1}`, `{"a":2}`} {
		if err := s.PutConversation(ctx, store.Conversation{Session: "s", API: "openai-completions", Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Conversation(ctx, "s")
		if err != nil || string(c.Body) != body || c.API != "openai-completions" {
			t.Errorf("got %+v, %v; want the body %s", c, err, body)
		}
	}
	if err := s.PutConversation(ctx, store.Conversation{Session: "s", Body: make([]byte, 8<<20+1)}); !errors.Is(err, store.ErrLimit) {
		t.Errorf("too large a conversation: %v", err)
	}
	// Six of 4 MiB are more than a quarter of 64 MiB: the oldest go.
	for i := range 6 {
		now = now.Add(time.Second)
		if err := s.PutConversation(ctx, store.Conversation{Session: fmt.Sprint(i), Body: bytes.Repeat([]byte("x"), 4<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, kept := range map[string]bool{"s": false, "0": false, "1": false, "2": true, "5": true} {
		if _, err := s.Conversation(ctx, name); (err == nil) != kept {
			t.Errorf("conversation %s: %v, want kept %v", name, err, kept)
		}
	}
	now = now.Add(100 * 365 * 24 * time.Hour)
	if err := s.Prune(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conversation(ctx, "5"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a conversation of long ago: %v", err)
	}
}
