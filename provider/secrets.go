package provider

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// secrets are the values that no error may repeat. An API may quote a key that
// it refuses.
type secrets []string

const hidden = "[hidden]"

func newSecrets(key string, headers http.Header) secrets {
	var s secrets
	if key != "" {
		s = append(s, key)
	}
	for name, values := range headers {
		if !isSecret(name) {
			continue
		}
		for _, v := range values {
			if scheme, rest, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "bearer") {
				v = strings.TrimSpace(rest)
			}
			if v != "" {
				s = append(s, v)
			}
		}
	}
	return s
}

// isSecret reports a header whose value is likely a secret, by its name.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "key", "token", "secret", "cookie"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// clean takes the secrets out of an API's error.
func (s secrets) clean(e *Error) {
	for _, v := range s {
		e.Message = strings.ReplaceAll(e.Message, v, hidden)
		e.Body = hideIn(e.Body, v)
	}
}

// hideIn takes a secret out of a body, also where JSON escapes its characters:
// some servers write a slash or a plus sign so.
func hideIn(body []byte, secret string) []byte {
	if !bytes.ContainsRune(body, '\\') {
		return bytes.ReplaceAll(body, []byte(secret), []byte(hidden))
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		if n := lengthOf(secret, body[i:]); n > 0 {
			out = append(out, hidden...)
			i += n
			continue
		}
		out = append(out, body[i])
		i++
	}
	return out
}

// lengthOf is how many bytes of b spell the secret; 0 when it does not begin
// with it.
func lengthOf(secret string, b []byte) int {
	at := 0
	for i := range len(secret) {
		c, n := byte(0), 0
		if at < len(b) {
			c, n = unescape(b[at:])
		}
		if n == 0 || c != secret[i] {
			return 0
		}
		at += n
	}
	return at
}

// unescape reads one ASCII character as JSON writes it, or one byte as it is.
func unescape(b []byte) (c byte, n int) {
	switch {
	case b[0] != '\\' || len(b) < 2:
		return b[0], 1
	case b[1] == '/' || b[1] == '"' || b[1] == '\\':
		return b[1], 2
	case b[1] == 'u' && len(b) >= 6:
		if v, err := strconv.ParseUint(string(b[2:6]), 16, 8); err == nil {
			return byte(v), 6
		}
	}
	return b[0], 1
}

// hide returns err, or when it repeats a secret, another error without it and
// without its chain.
func (s secrets) hide(err error) error {
	text := err.Error()
	for _, v := range s {
		text = strings.ReplaceAll(text, v, hidden)
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
