package schema_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// checkSignature checks what must hold of every signature.
func checkSignature(t *testing.T, sig string, longest int) {
	t.Helper()
	if n := utf8.RuneCountInString(sig); n == 0 || n > longest {
		t.Errorf("signature of %d characters, at most %d allowed", n, longest)
	}
	if !utf8.ValidString(sig) {
		t.Errorf("signature is not UTF-8: %q", sig)
	}
	if i := strings.IndexFunc(sig, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("signature has something invisible at %d: %q", i, sig)
	}
}
