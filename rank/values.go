package rank

import (
	"strings"
)

// A request carries values beside the words that say what to do: a date, a
// path, an address. What kind of value it is says something about the tool
// that takes it, and is read as an intent.

// shape is a kind of value. Its name is a phrase of intents.txt.
type shape string

const (
	noShape    shape = ""
	emailShape shape = "<email>"
	urlShape   shape = "<url>"
	pathShape  shape = "<path>"
	dateShape  shape = "<date>"
	timeShape  shape = "<time>"
	moneyShape shape = "<money>"
)

// eachValue calls found for each value in s with where it ends.
func eachValue(s string, found func(end int, kind shape)) {
	for i := 0; i < len(s); {
		if s[i] <= ' ' {
			i++
			continue
		}
		end := i
		for end < len(s) && s[end] > ' ' {
			end++
		}
		chunk := strings.Trim(s[i:end], ".,;:!?()[]{}<>\"'")
		if kind := shapeOf(chunk); kind != noShape {
			found(end, kind)
		}
		i = end
	}
}

// shapeOf tells what kind of value a chunk without blanks is.
func shapeOf(c string) shape {
	switch {
	case len(c) < 2:
		return noShape
	case strings.Contains(c, "://") || strings.HasPrefix(c, "www."):
		return urlShape
	case strings.IndexByte(c, '@') > 0:
		return emailShape
	case c[0] == '/' || c[0] == '~' || strings.Count(c, "/") > 1 && !dateLike(c):
		return pathShape
	case c[0] == '$' && digitAt(c, 1):
		return moneyShape
	case strings.HasPrefix(c, "€") || strings.HasPrefix(c, "£"):
		return moneyShape
	case dateLike(c):
		return dateShape
	case timeLike(c):
		return timeShape
	}
	return noShape
}

func digitAt(c string, i int) bool { return i < len(c) && '0' <= c[i] && c[i] <= '9' }

// dateLike reports 2024-03-01, 01/03/2024 and the like.
func dateLike(c string) bool {
	if len(c) < 8 || len(c) > 10 {
		return false
	}
	marks := 0
	for i := range len(c) {
		switch {
		case digitAt(c, i):
		case c[i] == '-' || c[i] == '/' || c[i] == '.':
			marks++
		default:
			return false
		}
	}
	return marks == 2
}

// timeLike reports 9:30, 19:00 and the like.
func timeLike(c string) bool {
	colon := strings.IndexByte(c, ':')
	return (colon == 1 || colon == 2) && digitAt(c, 0) && digitAt(c, colon+1) && digitAt(c, colon+2)
}
