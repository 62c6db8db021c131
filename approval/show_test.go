package approval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain text": "plain text",
		"größe 日本語 हिन्दी 😀": "größe 日本語 हिन्दी 😀",
		"\x1b[2K\rrm":               `\u001b[2K\rrm`,
		"a\u202Etxt.exe":            `a\u202etxt.exe`, // right-to-left override
		"a\u2066b\u2069":            `a\u2066b\u2069`,
		"pass\u200Bword":            `pass\u200bword`,
		"\uFEFFx":                   `\ufeffx`,
		"a\u00A0b":                  `a\u00a0b`,                 // no-break space
		"\U000E0041\U000E0042":      `\udb40\udc41\udb40\udc42`, // tags
		"a\u3164b\u115F\u2800":      `a\u3164b\u115f\u2800`,     // fillers and the blank of Braille
		"a\u034Fb":                  `a\u034fb`,
		"❤\uFE0F":                   `❤\ufe0f`,
		"\uE000":                    `\ue000`,
		"a\nb\tc":                   `a\nb\tc`,
		"bad\xffbyte":               `bad\xffbyte`,
		"\uFFFD":                    "\uFFFD",
		"e\u0301\u0301\u0301\u0301": "e\u0301\u0301" + `\u0301\u0301`,
		"\u2028":                    `\u2028`,
		"\u0085":                    `\u0085`,
	} {
		if got := approval.Visible(in); got != want {
			t.Errorf("Visible(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestTextShowsTheArguments(t *testing.T) {
	route := &answers{}
	target, _ := execTool()
	args := `{"command":"echo \"hi\"\n\u001b[8m\u0072m -rf ~\u202e","n":9007199254740993,"back":"\\u000a"}`
	blocked(t, do(newGate(t, approval.Options{Routes: []approval.Route{route}}), target, args, call.Origin{}), "denied it")
	got := route.last.Load().Text()
	want := "Tool: openclaw:core:exec\nArguments:\n" +
		`  back: "\\u000a"` + "\n" +
		`  command: "echo \"hi\"\n\u001b[8mrm -rf ~\u202e"` + "\n" +
		"  n: 9007199254740993\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What is hidden in the middle of a long argument, or behind many, is at least
// said to be there.
func TestTextSaysWhatItLeavesOut(t *testing.T) {
	long := fmt.Sprintf(`{"a":%q,"b":"the end"}`, "begin"+strings.Repeat("x", 50_000)+"finish")
	got := approval.Show(approval.Question{Tool: "t", Args: json.RawMessage(long)})
	for _, want := range []string{"begin", "finish", "bytes NOT shown", "the end"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %.300s", want, got)
		}
	}
	o := tool.Object{}
	for i := range 100 {
		o = o.Set(fmt.Sprintf("arg%03d", i), json.RawMessage(`"`+strings.Repeat("y", 500)+`"`))
	}
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got = approval.Show(approval.Question{Tool: "t", Folder: strings.Repeat("/folder", 500), Reason: strings.Repeat("reason ", 1000), Args: raw}); !strings.Contains(got, "80 more arguments that are NOT shown") {
		t.Errorf("the count of hidden arguments is missing: %s", got[len(got)-200:])
	}
	if len(got) > approval.MaxText {
		t.Errorf("%d bytes are more than %d", len(got), approval.MaxText)
	}
}

// Nothing that is shown can hide, move or fake a line.
func FuzzShow(f *testing.F) {
	f.Add("openclaw:core:exec", `{"command":"ls"}`, "", "/home/ann")
	f.Add("mcp:evil:\x1b[2J", `{"a\nTool: harmless":"\u202e\u001b"}`, "a\rb", "/a\nTool: b")
	f.Add("x", `[1,2,"\ud800"]`, "", "")
	f.Add("x", `{"a":`+strings.Repeat("[", 50)+strings.Repeat("]", 50)+`}`, "", "")
	f.Fuzz(func(t *testing.T, id, args, reason, folder string) {
		got := approval.Show(approval.Question{Tool: tool.ID(id), Folder: folder, Reason: reason, Args: json.RawMessage(args)})
		if len(got) > approval.MaxText {
			t.Errorf("%d bytes", len(got))
		}
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			begins := strings.HasPrefix(line, "Tool: ")
			if begins != (i == 0) {
				t.Errorf("line %d: %q", i, line)
			}
			if i > 0 && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "Arguments:") && !strings.HasPrefix(line, "Asked because: ") && !strings.HasPrefix(line, "Folder: ") {
				t.Errorf("line %d is none of ours: %q", i, line)
			}
			for _, r := range line {
				if !unicode.IsPrint(r) {
					t.Errorf("%U can hide in %q", r, line)
				}
			}
		}
	})
}
