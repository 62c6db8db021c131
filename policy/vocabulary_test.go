package policy

import (
	"strings"
	"testing"
)

// TestBuiltinText checks what parseVocabulary takes for granted of builtin.txt.
func TestBuiltinText(t *testing.T) {
	kinds := map[string]bool{"group": true, "alias": true, "control": true, "profile": true}
	v := parseVocabulary(builtinText)
	seen := map[string]string{}
	for line := range strings.Lines(builtinText) {
		line, _, _ = strings.Cut(line, "#")
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		if !kinds[w[0]] || len(w) < 2 || (w[0] != "control" && len(w) < 3) {
			t.Errorf("not a statement: %q", line)
			continue
		}
		for _, word := range w[1:] {
			if word != fold(word, false) {
				t.Errorf("%q is not in folded case", word)
			}
		}
		switch w[0] {
		case "group":
			for _, name := range w[2:] {
				if other, ok := seen[name]; ok {
					t.Errorf("%s is in the groups %s and %s", name, other, w[1])
				}
				seen[name] = w[1]
			}
		case "alias":
			if seen[w[1]] == "" {
				t.Errorf("alias of %q, which is no built-in tool", w[1])
			}
		case "profile":
			for _, entry := range w[2:] {
				checkProfileEntry(t, v, w[1], entry)
			}
		}
	}
	lists := 0
	for _, bit := range v.groups {
		if bit >= bitControls {
			continue
		}
		lists++
	}
	if lists > 50 {
		t.Errorf("%d groups run into the bits of the groups by source", lists)
	}
}

// checkProfileEntry wants an entry to mean something.
func checkProfileEntry(t *testing.T, v *vocabulary, profile, entry string) {
	t.Helper()
	if entry == "*" || entry == "bundle-mcp" {
		return
	}
	group, ok := strings.CutPrefix(entry, "group:")
	if ok && v.groups[group] == 0 || !ok && v.members[entry] == 0 {
		t.Errorf("profile %s: %q is neither a group nor a built-in tool", profile, entry)
	}
}

// TestReservedNames keeps in the vocabulary what the contract names.
func TestReservedNames(t *testing.T) {
	v := builtin()
	for _, name := range strings.Fields("read write edit list grep exec bash web_fetch image apply_patch apply-patch process memory_search") {
		if v.members[name] == 0 {
			t.Errorf("%s is no built-in tool", name)
		}
	}
	for _, group := range strings.Fields("fs runtime web memory sessions ui automation messaging nodes openclaw plugins") {
		if v.groups[group] == 0 {
			t.Errorf("group:%s is missing", group)
		}
	}
}
