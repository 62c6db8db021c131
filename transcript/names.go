package transcript

import "strings"

// foldName appends the letters and digits of a name in lower case. Separators
// are dropped, so that apiKey, api_key and API-Key are one name. Bytes outside
// of ASCII stay.
func foldName(dst []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c == '_' || c == '-' || c == '.' || c == ' ':
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// secretName reports whether a member of that name holds a secret.
func (r *Redactor) secretName(name string) bool {
	var buf [64]byte // enough for nearly every name
	folded := foldName(buf[:0], name)
	if len(r.fields) > 0 {
		if _, ok := r.fields[string(folded)]; ok {
			return true
		}
	}
	return builtinSecret(string(folded))
}

// builtinSecret holds the names that are always secret. It errs on the side of
// taking out too much, except for the tokens that page through lists and count
// words.
func builtinSecret(folded string) bool {
	switch folded {
	case "pass", "auth", "otp":
		return true
	}
	for _, part := range [...]string{
		"password", "passwd", "passphrase", "passcode", "secret", "authorization", "cookie", "credential",
		"apikey", "privatekey", "accesskey", "accountkey", "signingkey", "encryptionkey", "masterkey",
		"sessionid", "sessionkey", "sessiontoken", "accesstoken", "refreshtoken", "authtoken", "bearer",
	} {
		if strings.Contains(folded, part) {
			return true
		}
	}
	if strings.HasSuffix(folded, "pwd") || strings.HasSuffix(folded, "jwt") {
		return true
	}
	if !strings.HasSuffix(folded, "token") {
		return false
	}
	for _, paging := range [...]string{"pagetoken", "nexttoken", "continuationtoken", "cursortoken", "synctoken", "progresstoken", "stoptoken", "pertoken"} {
		if strings.HasSuffix(folded, paging) {
			return false
		}
	}
	return true
}
