package tool

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minSecretBase64 is the shortest part of an encoding, in characters, by which a
// secret is known inside a longer one: less stands in any text.
const minSecretBase64 = 8

// SecretForms lists how secrets may be written in a text, all of them together,
// the longest first, so that replacing one leaves no part of another: as they
// are, in a JSON string, in a URL, and in base64, also in the middle of a longer
// text that was encoded as a whole. There, up to three characters on either side
// belong to what stands beside the secret too, and are not part of its form.
func SecretForms(secrets ...string) []string {
	var forms []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		forms = append(forms, s, quotedForm(Encode(s)), quotedForm(json.Marshal(s)), url.QueryEscape(s), url.PathEscape(s))
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			whole := alphabet.EncodeToString([]byte(s))
			forms = append(forms, whole, strings.TrimRight(whole, "="))
			for before := range 3 { // bytes in front of it in its first group
				text := alphabet.EncodeToString(append(make([]byte, before, before+len(s)), s...))
				if part := text[(before*8+5)/6 : (before+len(s))*8/6]; len(part) >= minSecretBase64 {
					forms = append(forms, part)
				}
			}
		}
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return slices.DeleteFunc(slices.Compact(forms), func(s string) bool { return s == "" })
}

// HeaderSecrets are the value of a header, and what follows a scheme such as Bearer
// in it.
func HeaderSecrets(value string) []string {
	if _, token, ok := strings.Cut(value, " "); ok {
		return []string{value, strings.TrimSpace(token)}
	}
	return []string{value}
}

// AddressSecrets are the password of a URL, or the user where there is no password,
// as tokens are written; those values of its query that count; and what looks like
// a token in its path, where some MCP servers have their only key. They are sorted;
// what is no URL has none.
func AddressSecrets(address string, counts func(name, value string) bool) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var out []string
	if password, ok := u.User.Password(); ok {
		out = append(out, password)
	} else if u.User != nil {
		out = append(out, u.User.Username())
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if counts(name, v) {
				out = append(out, v)
			}
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if looksLikeToken(part) {
			out = append(out, part)
		}
	}
	slices.Sort(out)
	return out
}

// leastToken is the length in bytes from which on letters with digits among them
// are taken for a token, not for a name.
const leastToken = 20

// looksLikeToken reports a run of letters and digits that no word has.
func looksLikeToken(s string) bool {
	run, digits, letters := 0, 0, 0
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		default:
			run, digits, letters = 0, 0, 0
			continue
		}
		if run++; run >= leastToken && digits > 0 && letters > 0 {
			return true
		}
	}
	return false
}

// quotedForm is what stands between the quotes of a JSON string.
func quotedForm[T ~[]byte](quoted T, err error) string {
	if err != nil || len(quoted) < 2 { // a string always marshals
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}
