// Command main holds the hooks of the guard example plugin: it reads one call as
// JSON from its standard input and prints one decision. It shows how a hook is
// written; it is no sandbox, since a shell has many ways to say rm.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// input is what this program uses of the document a hook gets.
type input struct {
	Event string `json:"event"`
	Args  struct {
		Command string `json:"command"`
	} `json:"args"`
	Result json.RawMessage `json:"result"`
}

type decision struct {
	Decision string          `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(decide(in)); err != nil {
		fail(err)
	}
}

// fail ends the program in a way that blocks the call.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "guard:", err)
	os.Exit(1)
}

func decide(in input) decision {
	switch in.Event {
	case "before_tool_call":
		if deletesTrees(in.Args.Command) {
			return decision{Decision: "block", Reason: "rm -rf is not allowed here; delete single files, or ask the user"}
		}
	case "after_tool_call":
		if clean := hideCredentials(in.Result); string(clean) != string(in.Result) {
			return decision{Decision: "replace", Result: clean}
		}
	}
	return decision{Decision: "continue"}
}

// deletesTrees reports whether a shell command calls rm with both -r and -f.
func deletesTrees(command string) bool {
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) }) {
		var rm, recursive, force bool
		for _, word := range strings.Fields(part) {
			word = strings.Trim(word, `'"\`)
			switch {
			case path.Base(word) == "rm":
				rm = true
			case word == "--recursive":
				recursive = true
			case word == "--force":
				force = true
			case strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--"):
				recursive = recursive || strings.ContainsAny(word, "rR")
				force = force || strings.Contains(word, "f")
			}
		}
		if rm && recursive && force {
			return true
		}
	}
	return false
}

// hideCredentials replaces what looks like a credential in every string of a
// JSON document, and leaves all other bytes as they are.
func hideCredentials(doc json.RawMessage) json.RawMessage {
	literal := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	secret := regexp.MustCompile(`(?s)\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{36,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	return literal.ReplaceAllFunc(doc, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil || !secret.MatchString(text) {
			return quoted
		}
		out, err := json.Marshal(secret.ReplaceAllString(text, "[hidden]"))
		if err != nil {
			return []byte(`"[hidden]"`)
		}
		return out
	})
}
