package provider

import (
	"bytes"
	"errors"
	"net/http"
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
		e.Body = bytes.ReplaceAll(e.Body, []byte(v), []byte(hidden))
	}
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
