package transcript

import "strings"

// maxNamed bounds, in bytes, a secret's name in plain text.
const maxNamed = 128

// phrases takes out of plain text what follows a secret's name, passwords in
// URLs, private keys, and what its issuer marks as a secret.
func (r *Redactor) phrases(text string) string {
	var out strings.Builder
	last := 0
	cutOut := func(from, to int) {
		if from >= last && to > from {
			out.WriteString(text[last:from])
			out.WriteString(Redacted)
			last = to
		}
	}
	dashes := strings.Contains(text, "--") // an option or a private key
	inWord := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '-':
			if dashes && strings.HasPrefix(text[i:], "-----BEGIN ") {
				cutOut(privateKey(text, i))
			}
			inWord = true
		case nameByte(c):
			if !inWord {
				cutOut(i, token(text, i))
			}
			inWord = true
		case c == ':' && strings.HasPrefix(text[i:], "://"):
			cutOut(urlPassword(text, i+3))
			inWord = false
		case c == ':' || c == '=':
			if r.secretName(nameBefore(text, i)) {
				cutOut(valueAfter(text, i+1))
			}
			inWord = false
		case c == ' ' && dashes:
			if name := nameBefore(text, i); strings.HasPrefix(name, "--") && r.secretName(name) {
				cutOut(valueAfter(text, i+1))
			}
			inWord = false
		default:
			inWord = false
		}
		if last > i+1 {
			i = last - 1
			inWord = nameByte(text[i])
		}
	}
	if last == 0 {
		return text
	}
	out.WriteString(text[last:])
	return out.String()
}

// nameBefore returns the word that ends before i, without the quotes and
// spaces between them.
func nameBefore(text string, i int) string {
	end := i
	for end > 0 && (text[end-1] == ' ' && text[i] != ' ' || text[end-1] == '"' || text[end-1] == '\'' || text[end-1] == '\\') && i-end < 4 {
		end--
	}
	from := end
	for from > 0 && end-from < maxNamed && nameByte(text[from-1]) {
		from--
	}
	return text[from:end]
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// valueAfter returns where the value after a name begins and ends: a quoted
// text, or a word; after a scheme such as Bearer, the word after it too.
func valueAfter(text string, i int) (from, to int) {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '=') {
		i++
	}
	for i < len(text) && text[i] == '\\' { // a quote that stands in a quoted text
		i++
	}
	if i >= len(text) {
		return i, i
	}
	if q := text[i]; q == '"' || q == '\'' || q == '`' {
		end := i + 1
		for end < len(text) && text[end] != q {
			if text[end] == '\\' && end+1 < len(text) && text[end+1] != q {
				end++
			}
			end++
		}
		end = min(end, len(text))
		return i + 1, end
	}
	end := wordEnd(text, i)
	switch strings.ToLower(text[i:end]) {
	case "bearer", "basic", "digest", "token", "negotiate", "apikey":
		next := end
		for next < len(text) && text[next] == ' ' {
			next++
		}
		if next > end {
			end = wordEnd(text, next)
		}
	}
	return i, end
}

func wordEnd(text string, i int) int {
	if n := strings.IndexAny(text[i:], " \t\r\n\"'`&,;)}]<>|"); n >= 0 {
		return i + n
	}
	return len(text)
}

// urlPassword finds the password in user:password@host; i is after "://".
func urlPassword(text string, i int) (from, to int) {
	colon := -1
	for j := i; j < len(text); j++ {
		switch text[j] {
		case ':':
			if colon < 0 {
				colon = j
			}
		case '@':
			if colon < 0 {
				return i, i
			}
			return colon + 1, j
		case '/', '?', '#', ' ', '\n', '"', '\'':
			return i, i
		}
	}
	return i, i
}

// privateKey finds the end of a PEM block that holds a private key; one that
// is cut off ends with the text.
func privateKey(text string, i int) (from, to int) {
	const maxLabel = 64 // so that a text of many beginnings is read once
	from = i + len("-----BEGIN ")
	head, _, ok := strings.Cut(text[from:min(from+maxLabel, len(text))], "-----")
	if !ok || !strings.HasSuffix(head, "PRIVATE KEY") {
		return i, i
	}
	rest := text[from+len(head):]
	end := strings.Index(rest, "-----END "+head+"-----")
	if end < 0 {
		return i, len(text)
	}
	return i, len(text) - len(rest) + end + len("-----END "+head+"-----")
}
