package approval

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolsearch/toolsearch/tool"
)

// KeySize is the length of a Sealer's key, in bytes.
const KeySize = 32

// MaxSealed bounds a sealed state, in bytes.
const MaxSealed = 8 << 10

// ErrSealed says that a sealed state cannot be read: it is cut, changed, or was
// sealed under another key.
var ErrSealed = errors.New("the request state is not one of this server's")

// Continuation is what a client carries between the two halves of a call that
// waits for an answer. It names the record and repeats what it binds.
type Continuation struct {
	ID        string    `json:"id"`
	Principal string    `json:"principal"` // the caller
	Agent     string    `json:"agent"`
	Run       string    `json:"run"`
	Tool      tool.ID   `json:"tool"`
	Digest    string    `json:"digest"`
	Expires   time.Time `json:"expires"`
}

// Continue returns the continuation of a record.
func Continue(r *Record) Continuation {
	return Continuation{
		ID: r.ID, Principal: r.Caller, Agent: r.Agent, Run: r.Run,
		Tool: r.Tool, Digest: r.Digest, Expires: r.Expires,
	}
}

// Check says what of the continuation does not belong to the record, or that it
// expired; nil when all is well.
func (c Continuation) Check(r *Record, now time.Time) error {
	switch {
	case !now.Before(c.Expires):
		return errors.New("the request state has expired")
	case c.Principal != r.Caller || c.Agent != r.Agent:
		return errors.New("the request state belongs to another caller")
	case c.ID != r.ID:
		return errors.New("the request state belongs to a request that was answered already")
	case c.Tool != r.Tool:
		return errors.New("the request state belongs to another tool")
	case c.Digest != r.Digest:
		return errors.New("the request state belongs to other arguments")
	case c.Run != r.Run:
		return errors.New("the request state belongs to another run")
	}
	return nil
}

// Sealer encrypts and authenticates continuations with AES-256-GCM, so that a
// client can neither read nor make one. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// sealedFor is authenticated with every state, so that a key that is used for
// something else too gives nothing that could be taken for one.
const sealedFor = "toolsearch approval request state 1"

// NewSealer makes a Sealer of a key of KeySize secret random bytes. Nil makes a
// key of its own, which ends with the process.
func NewSealer(key []byte) (*Sealer, error) {
	if key == nil {
		key = make([]byte, KeySize)
		_, _ = rand.Read(key) // never fails, by its contract
	}
	if len(key) != KeySize {
		return nil, fmt.Errorf("make a sealer: the key has %d bytes, not %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a sealer: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a sealer: %w", err)
	}
	return &Sealer{aead}, nil
}

// Seal returns the continuation as opaque text.
func (s *Sealer) Seal(c Continuation) (string, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("seal a request state: %w", err)
	}
	out := base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(sealedFor)))
	if len(out) > MaxSealed {
		return "", fmt.Errorf("seal a request state: it has %d bytes, more than %d", len(out), MaxSealed)
	}
	return out, nil
}

// Open returns what was sealed, or ErrSealed.
func (s *Sealer) Open(sealed string) (Continuation, error) {
	if len(sealed) > MaxSealed {
		return Continuation{}, ErrSealed
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return Continuation{}, ErrSealed
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(sealedFor))
	if err != nil {
		return Continuation{}, ErrSealed
	}
	var c Continuation
	if err := json.Unmarshal(plain, &c); err != nil {
		return Continuation{}, ErrSealed
	}
	return c, nil
}
