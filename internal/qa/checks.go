package qa

import (
	"fmt"
	"slices"
	"strings"
)

// Check is one claim, and whether it holds.
type Check struct {
	Number int    `json:"number"`
	Claim  string `json:"claim"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// controls are those of each lane, as the contract has them.
func controls(l Lane) []string {
	switch l {
	case Code:
		return []string{"tool_search_code"}
	case Tools, Directory:
		return []string{"tool_search", "tool_describe", "tool_call"}
	}
	return nil
}

// control is the one through which a lane calls the target.
func control(l Lane) string {
	switch l {
	case Code:
		return "tool_search_code"
	case Tools, Directory:
		return "tool_call"
	}
	return ""
}

// check makes the seven claims.
func (f *fixture) check(lanes []Evidence) []Check {
	by := map[Lane]*Evidence{}
	for i := range lanes {
		by[lanes[i].Lane] = &lanes[i]
	}
	direct := by[Direct]
	modes := []*Evidence{by[Code], by[Tools], by[Directory]}
	return []Check{
		claim(1, "direct exposure calls the plugin's tool", f.calls(direct)),
		claim(2, "each mode calls the same tool", each(modes, f.calls)),
		claim(3, "direct exposure sends the plugin's schemas", f.exposes(direct)),
		claim(4, "the modes send only their controls and what is direct-only", each(modes, f.hides)),
		claim(5, "the modes' requests are smaller", each(modes, func(e *Evidence) string { return smaller(e, direct) })),
		claim(6, "the session logs show the counts, and the call with its id and source", each(append(modes, direct), f.logged)),
		claim(7, "one search takes a batch of two queries", each(modes[1:], batched)),
	}
}

// claim is a check whose problem is "" when it holds.
func claim(number int, text, problem string) Check {
	c := Check{Number: number, Claim: text, OK: problem == "", Detail: problem}
	return c
}

// each collects the problems of several lanes.
func each(lanes []*Evidence, problem func(*Evidence) string) string {
	var out []string
	for _, e := range lanes {
		if p := problem(e); p != "" {
			out = append(out, string(e.Lane)+": "+p)
		}
	}
	return strings.Join(out, "; ")
}

// calls says that the target ran and its answer came back.
func (f *fixture) calls(e *Evidence) string {
	if !strings.Contains(e.Answer, marker) {
		return fmt.Sprintf("the answer does not hold what %s says: %.200q", targetName, e.Answer)
	}
	return ""
}

func (f *fixture) exposes(e *Evidence) string {
	for _, name := range f.names {
		if !slices.Contains(e.Tools, name) {
			return name + " is not in the request"
		}
	}
	for _, parameter := range []string{"place", "dry_run"} {
		if !slices.Contains(e.Schemas, parameter) {
			return "the parameter " + parameter + " is described nowhere"
		}
	}
	return ""
}

func (f *fixture) hides(e *Evidence) string {
	want := append(controls(e.Lane), alwaysName)
	if !slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(e.Tools))) {
		return fmt.Sprintf("the request has %d tools (%.300q), want %q", len(e.Tools), e.Tools, want)
	}
	if listed := strings.Contains(e.System, "fake_"); listed != (e.Lane == Directory) {
		return fmt.Sprintf("tools are listed in the prompt: %v", listed)
	}
	return ""
}

func smaller(e, direct *Evidence) string {
	if e.Bytes >= direct.Bytes {
		return fmt.Sprintf("%d bytes are not fewer than %d", e.Bytes, direct.Bytes)
	}
	return ""
}

func (f *fixture) logged(e *Evidence) string {
	want := Call{Tool: f.targetID(), Source: "openclaw", Owner: f.pluginOf(f.opt.Tools / 2), Control: control(e.Lane), Status: "ok"}
	if len(e.Log.Calls) != 1 || e.Log.Calls[0] != want {
		return fmt.Sprintf("the log has the calls %+v, want %+v", e.Log.Calls, want)
	}
	mode, searches, schemas, catalog := string(e.Lane), 2, len(controls(e.Lane))+1, len(f.names)
	if e.Lane == Direct {
		mode, searches, schemas, catalog = "off", 0, len(f.names)+1, 0
	}
	if e.Log.Mode != mode || e.Log.Searches != searches || e.Log.Describes != 0 || e.Log.Schemas != schemas || e.Log.Catalog != catalog {
		return fmt.Sprintf("the log has mode %s, %d searches, %d describes, %d schemas up front and a catalog of %d; want %s, %d, 0, %d and %d",
			e.Log.Mode, e.Log.Searches, e.Log.Describes, e.Log.Schemas, e.Log.Catalog, mode, searches, schemas, catalog)
	}
	return ""
}

func batched(e *Evidence) string {
	if !slices.Equal(e.Batches, []int{2}) || !slices.Equal(e.Groups, []int{2}) {
		return fmt.Sprintf("the searches had %v queries and %v groups of answers, want one of 2 with 2", e.Batches, e.Groups)
	}
	return ""
}
