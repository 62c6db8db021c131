package approval_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
)

func sealer(t testing.TB, key []byte) *approval.Sealer {
	t.Helper()
	s, err := approval.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(now time.Time) *approval.Record {
	return &approval.Record{
		ID: "abc", Caller: "ann", Agent: "main", Run: "r1", Tool: "openclaw:core:exec", Digest: "sha256:1", Expires: now.Add(time.Minute),
	}
}

func TestSealer(t *testing.T) {
	key := bytes.Repeat([]byte{7}, approval.KeySize)
	now := time.Now()
	c := approval.Continue(record(now))
	a := sealer(t, key)
	sealed, err := a.Seal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.Seal(c)
	if err != nil || again == sealed {
		t.Errorf("the same state is sealed alike twice (%v)", err)
	}
	got, err := sealer(t, key).Open(sealed)
	if err != nil || got.ID != c.ID || got.Check(record(now), now) != nil {
		t.Errorf("opened to %+v, %v", got, err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || bytes.Contains(raw, []byte("ann")) || bytes.Contains(raw, []byte("sha256")) {
		t.Errorf("the state can be read (%v)", err)
	}
	// Every single changed bit, every cut, and another key are refused.
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		if _, err := a.Open(base64.RawURLEncoding.EncodeToString(bad)); !errors.Is(err, approval.ErrSealed) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := a.Open(base64.RawURLEncoding.EncodeToString(raw[:i])); !errors.Is(err, approval.ErrSealed) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	for _, other := range []*approval.Sealer{sealer(t, nil), sealer(t, make([]byte, approval.KeySize))} {
		if _, err := other.Open(sealed); !errors.Is(err, approval.ErrSealed) {
			t.Errorf("another key opens it: %v", err)
		}
	}
	if _, err := a.Open(strings.Repeat("A", approval.MaxSealed+1)); !errors.Is(err, approval.ErrSealed) {
		t.Errorf("too long: %v", err)
	}
	if _, err := approval.NewSealer([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
	huge := c
	huge.Run = strings.Repeat("r", approval.MaxSealed)
	if _, err := a.Seal(huge); err == nil {
		t.Error("a state that Open would refuse was sealed")
	}
}

func TestContinuationCheck(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		change func(*approval.Record)
		at     time.Time
		want   string
	}{
		"nothing changed": {func(*approval.Record) {}, now, ""},
		"expired":         {func(*approval.Record) {}, now.Add(time.Minute), "expired"},
		"answered":        {func(r *approval.Record) { r.ID = "def" }, now, "answered already"},
		"caller":          {func(r *approval.Record) { r.Caller = "bob" }, now, "another caller"},
		"agent":           {func(r *approval.Record) { r.Agent = "b" }, now, "another caller"},
		"tool":            {func(r *approval.Record) { r.Tool = "x" }, now, "another tool"},
		"arguments":       {func(r *approval.Record) { r.Digest = "sha256:2" }, now, "other arguments"},
		"run":             {func(r *approval.Record) { r.Run = "r2" }, now, "another run"},
	} {
		state := approval.Continue(record(now))
		r := record(now)
		c.change(r)
		err := state.Check(r, c.at)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// No text but a sealed one opens, and opening never fails in another way.
func FuzzOpen(f *testing.F) {
	s := sealer(f, bytes.Repeat([]byte{7}, approval.KeySize))
	good, err := s.Seal(approval.Continuation{ID: "abc"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("eyJpZCI6ImFiYyJ9")
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good + "A")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := s.Open(text)
		if err != nil {
			if !errors.Is(err, approval.ErrSealed) || c != (approval.Continuation{}) {
				t.Errorf("%v, %+v", err, c)
			}
			return
		}
		// Several processes fuzz with this key, and each seals anew.
		if c != (approval.Continuation{ID: "abc"}) {
			t.Errorf("a state that was never sealed opens: %+v", c)
		}
	})
}
