package code

import (
	"regexp"
	"strings"
	"sync"

	"github.com/toolsearch/toolsearch/tool"
)

const maxSnippet = 200

// unfence removes one code fence around the whole text. The fence's lines stay
// as empty lines, so that line numbers are those of the text as it was sent.
func unfence(body string) string {
	trimmed := strings.TrimSpace(body)
	if !strings.HasPrefix(trimmed, "```") || !strings.HasSuffix(trimmed, "```") || len(trimmed) < 6 {
		return body
	}
	lead := body[:strings.Index(body, "```")]
	open, rest, ok := strings.Cut(trimmed, "\n")
	if !ok || strings.Contains(open[3:], "`") {
		return body
	}
	inner, ok := strings.CutSuffix(rest, "```")
	if !ok || (inner != "" && !strings.HasSuffix(strings.TrimRight(inner, " \t"), "\n")) {
		return body
	}
	if strings.Contains(inner, "\n```") || strings.HasPrefix(inner, "```") {
		return body // more than one block: not ours to choose
	}
	return lead + "\n" + inner
}

// explain completes an error with the offending line and with what to do.
func explain(r *Report, source string) {
	e := r.Error
	if e == nil {
		return
	}
	e.Name, e.Message = tool.Clean(e.Name, 200), tool.Clean(e.Message, faultText)
	e.Stack = tool.Clean(e.Stack, 2000)
	lines := strings.Split(source, "\n")
	if e.Line > len(lines) { // the wrapper's last line: the text ended too early
		e.Line = len(lines)
		e.Column = len([]rune(lines[e.Line-1])) + 1
	}
	if e.Line > 0 {
		e.Snippet = snippet(lines[e.Line-1], e.Column)
	}
	if e.Hint == "" {
		e.Hint = hint(e, source)
	}
}

// snippet returns a line, or the part of a long one around a column.
func snippet(line string, column int) string {
	runes := []rune(strings.TrimRight(line, "\r"))
	if len(runes) > maxSnippet {
		from := min(max(column-maxSnippet/2, 0), len(runes)-maxSnippet)
		runes = runes[from : from+maxSnippet]
	}
	return tool.Clean(string(runes), 4*maxSnippet)
}

// missing finds names of other environments that a model may try.
var missing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(fetch|XMLHttpRequest|WebSocket|require|import|module|exports|setTimeout|setInterval|setImmediate|queueMicrotask|process|Buffer|Deno|Bun|window|document|navigator|localStorage|WebAssembly|URL|TextEncoder|TextDecoder|structuredClone|atob|btoa|crypto|performance|__dirname|__filename)\b`)
})

const (
	hintTools  = "here are only the JavaScript language, console.log/warn/error and openclaw.tools.search, .describe and .call: reach everything else through openclaw.tools"
	hintTimers = "there are no timers here: await the calls of openclaw.tools instead"
	hintStuck  = "only openclaw.tools requests can finish later; a promise that waits for anything else never settles"
)

// hint looks at the names in an error's text and, for a text that does not
// parse, in the line.
func hint(e *GuestError, source string) string {
	switch e.Kind {
	case KindStuck:
		// In node a dynamic import never settles.
		if strings.Contains(source, "import(") {
			return "import: " + hintTools
		}
		return hintStuck
	case KindMemory:
		return "work on less data at a time: filter or page with the tools' own arguments, and return only what is needed"
	}
	text := ""
	switch e.Name {
	case "ReferenceError":
		text = e.Message
	case "TypeError", "SyntaxError": // of these only what import leads to
		if text = e.Message; e.Name == "SyntaxError" {
			text = e.Snippet
		}
		if i := strings.Index(text, "import"); i >= 0 {
			text = text[i:]
		} else {
			text = ""
		}
	}
	switch name := missing().FindString(text); name {
	case "":
		return ""
	case "setTimeout", "setInterval", "setImmediate", "queueMicrotask":
		return name + ": " + hintTimers
	default:
		return name + ": " + hintTools
	}
}
