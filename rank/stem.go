package rank

// inflect strips the inflection of a lower-case English word: plural,
// possessive, -ing, -ed and the final e that comes and goes with them. These
// are steps 1 and 5 of the Porter2 algorithm
// (https://snowballstem.org/algorithms/english/stemmer.html). Its derivational
// steps (-ment, -ation, -er …) are left out on purpose: "deployment" is
// another word than "deploy", and meets it through the families of lexicon.go,
// below what was typed. The result may be w itself or a shorter slice of it,
// changed in place.
func inflect(w []byte) []byte {
	if len(w) <= 2 || !letters(w) {
		return w
	}
	w = plural(w)
	w = pastOrGerund(w)
	if n := len(w); n > 2 && w[n-1] == 'y' && !vowelAt(w, n-2) {
		w[n-1] = 'i'
	}
	return finalE(w)
}

func letters(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// plural is step 1a.
func plural(w []byte) []byte {
	n := len(w)
	switch {
	case ends(w, "sses"):
		return w[:n-2]
	case ends(w, "ies"), ends(w, "ied"):
		if n > 4 {
			return w[:n-2]
		}
		return w[:n-1]
	case ends(w, "us"), ends(w, "ss"), ends(w, "sis"), ends(w, "xis"):
		return w
	case ends(w, "s") && n > 3 && hasVowel(w[:n-2]), ends(w, "s") && n == 3 && hasVowel(w[:1]):
		return w[:n-1]
	}
	return w
}

// pastOrGerund is step 1b.
func pastOrGerund(w []byte) []byte {
	n := len(w)
	switch {
	case ends(w, "eed"):
		if r1(w) <= n-3 {
			return w[:n-1]
		}
		return w
	case ends(w, "ed") && hasVowel(w[:n-2]):
		w = w[:n-2]
	case ends(w, "ing") && hasVowel(w[:n-3]):
		w = w[:n-3]
	default:
		return w
	}
	switch {
	case ends(w, "at"), ends(w, "bl"), ends(w, "iz"):
		return append(w, 'e')
	case doubled(w):
		return w[:len(w)-1]
	case r1(w) >= len(w) && shortSyllable(w, len(w)):
		return append(w, 'e')
	}
	return w
}

// finalE is step 5.
func finalE(w []byte) []byte {
	n := len(w)
	switch {
	case ends(w, "e"):
		start := r1(w)
		if r2(w, start) <= n-1 || start <= n-1 && !shortSyllable(w, n-1) {
			return w[:n-1]
		}
	case ends(w, "ll"):
		if r2(w, r1(w)) <= n-1 {
			return w[:n-1]
		}
	}
	return w
}

func ends(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

// vowelAt reports whether w[i] is a vowel. A y is one unless it begins the
// word or follows a vowel.
func vowelAt(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !vowelAt(w, i-1)
	}
	return false
}

func hasVowel(w []byte) bool {
	for i := range w {
		if vowelAt(w, i) {
			return true
		}
	}
	return false
}

// doubled reports a double consonant that the suffix brought: running,
// stopped. Words that are spelled so keep theirs: call, process, buzz, add,
// off, egg.
func doubled(w []byte) bool {
	n := len(w)
	if n < 2 || w[n-1] != w[n-2] {
		return false
	}
	switch w[n-1] {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return n != 3 || (w[0] != 'a' && w[0] != 'e' && w[0] != 'o')
	}
	return false
}

// shortSyllable reports whether w[:n] ends in a short syllable.
func shortSyllable(w []byte, n int) bool {
	if n == 2 {
		return vowelAt(w, 0) && !vowelAt(w, 1)
	}
	if n < 3 {
		return false
	}
	last := w[n-1]
	return !vowelAt(w, n-3) && vowelAt(w, n-2) && !vowelAt(w, n-1) && last != 'w' && last != 'x' && last != 'y'
}

// r1 returns where region R1 of the algorithm begins: after the first
// consonant that follows a vowel.
func r1(w []byte) int {
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if len(w) >= len(prefix) && string(w[:len(prefix)]) == prefix {
			return len(prefix)
		}
	}
	return r2(w, 0)
}

// r2 returns where the next region begins after start.
func r2(w []byte, start int) int {
	for i := start + 1; i < len(w); i++ {
		if !vowelAt(w, i) && vowelAt(w, i-1) {
			return i + 1
		}
	}
	return len(w)
}
