package modelapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsearch/toolsearch/internal/config"
)

// Key is the key of one caller, by its SHA-256: a hash of a long random text
// needs no salt, and a leaked configuration opens nothing.
type Key struct {
	Name string
	Sum  [sha256.Size]byte
	config.Who
	Metrics bool // may read /metrics
}

// Caller is who asks. The zero value is the local user.
type Caller struct {
	Name string
	config.Who
	noMetrics bool
}

type keyring []Key

// newKeyring refuses two callers of one name or one key: then it would not be
// known who asks.
func newKeyring(keys []Key) (keyring, error) {
	for i, k := range keys {
		if k.Name == "" {
			return nil, fmt.Errorf("read the keys: key %d has no name", i+1)
		}
		for _, o := range keys[:i] {
			if o.Name == k.Name || o.Sum == k.Sum {
				return nil, fmt.Errorf("read the keys: %q and %q have one name or one key; give each caller its own", o.Name, k.Name)
			}
		}
	}
	return keys, nil
}

// find looks at every key, so that how long it takes tells nothing of them.
func (k keyring) find(secret string) (Caller, bool) {
	sum := sha256.Sum256([]byte(secret))
	found := -1
	for i := range k {
		if subtle.ConstantTimeCompare(sum[:], k[i].Sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	return Caller{k[found].Name, k[found].Who, !k[found].Metrics}, true
}

// secretOf is the key that a request brings: as a bearer, or in Anthropic's own
// header.
func secretOf(h http.Header) string {
	if values := h.Values("Authorization"); len(values) == 1 {
		if scheme, secret, ok := strings.Cut(values[0], " "); ok && strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(secret)
		}
	}
	if values := h.Values("X-Api-Key"); len(values) == 1 {
		return values[0]
	}
	return ""
}

// identify says who asks. Without keys it is the local user.
func (s *Server) identify(r *http.Request) (Caller, bool) {
	if len(s.keys) == 0 {
		return Caller{}, true
	}
	secret := secretOf(r.Header)
	if secret == "" {
		return Caller{}, false
	}
	return s.keys.find(secret)
}
