package turn

import (
	"encoding/json"
	"fmt"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
)

// repeats counts the calls that failed, by name and arguments. It stops a model
// that makes the same failing call again and again: the second failure says so,
// the third call is refused, and a round that only holds calls which have failed
// maxFailures times ends the run.
//
// Calls that reached a tool are stopped by call.Repeats, which knows a target
// whichever way it is called; they only count here for the end of the run. A run
// has at most Limits.Calls entries.
type repeats map[string]failing

type failing struct {
	count int
	own   bool // no tool was reached: nothing else says so or refuses it
}

// maxFailures is how often a call fails before asking for it once more is
// hopeless.
const maxFailures = 3

func repeatKey(c provider.Call) string {
	digest, err := call.DigestOf(c.Args)
	if err != nil {
		return c.FullName() + "\x00" + string(c.Args)
	}
	return c.FullName() + "\x00" + string(digest[:])
}

// note counts how a call ended.
func (p repeats) note(c *running) {
	key := repeatKey(c.call)
	switch {
	case !c.answer.IsError:
		delete(p, key)
	case counts(c.code):
		p[key] = failing{p[key].count + 1, c.own}
	}
}

// hopeless reports whether every one of the calls has failed too often.
func (p repeats) hopeless(calls []provider.Call) bool {
	for _, c := range calls {
		if p[repeatKey(c)].count < maxFailures {
			return false
		}
	}
	return true
}

// counts reports whether a failure is the call's own: others can mend
// themselves.
func counts(c tool.Code) bool {
	return c != tool.CodeCancelled && c != tool.CodeBlocked && c != tool.CodeUnavailable
}

const repeatedNote = "This same call failed before with the same arguments. A third one will not be made: change the arguments or take another way."

func refusedRepeat(name string) *tool.Error {
	return &tool.Error{
		Code: tool.CodeLimitExhausted, By: "repeat",
		Reason: fmt.Sprintf("%s was not called: this same call with the same arguments has failed twice", tool.Clean(name, 200)),
		Next:   "Change the arguments, take another way, or answer without it.",
	}
}

// judge finds out why a call failed, and whether it reached a tool.
func judge(name string, res *tool.Result) (code tool.Code, own bool) {
	var refusal struct {
		Code tool.Code `json:"code"`
	}
	if res.Details != nil {
		// An envelope or a tool's own answer has no such code, or one of its own.
		_ = json.Unmarshal(res.Details, &refusal)
	}
	switch name {
	case surface.ToolSearch, surface.ToolDescribe, surface.ToolSearchCode:
		return refusal.Code, true
	case surface.ToolCall:
		switch refusal.Code {
		case tool.CodeUnknownTool, tool.CodeAmbiguous, tool.CodeInvalidInput, tool.CodeCallDirectly, tool.CodeCatalogGone:
			return refusal.Code, true
		}
	}
	return refusal.Code, false
}
