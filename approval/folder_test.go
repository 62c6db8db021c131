package approval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

// An approval of a core tool counts in the folder that it was asked about in,
// whatever its scope; that of another tool, which has no folder, counts anywhere,
// and for a core tool nowhere.
func TestAnApprovalBindsTheFolder(t *testing.T) {
	core, _ := counted(tool.OpenClaw, tool.CoreOwner, "write", tool.Annotations{Destructive: yes()})
	other, _ := counted(tool.MCP, "files", "write", tool.Annotations{})
	for name, c := range map[string]struct {
		asked, called    *tool.Tool
		scope            approval.Scope
		pattern          string
		inOther, inSame  bool
		folder, question string // of the record, and in its text
	}{
		"core, once":            {core, core, approval.Once, "", false, true, "/home/ann/a", "Folder: /home/ann/a\n"},
		"core, session":         {core, core, approval.Session, "", false, true, "/home/ann/a", "Folder: /home/ann/a\n"},
		"core, pattern":         {core, core, approval.Pattern, "*", false, true, "/home/ann/a", "Folder: /home/ann/a\n"},
		"another tool, once":    {other, other, approval.Once, "", true, false, "", ""}, // used up in the other folder
		"another tool, session": {other, other, approval.Session, "", true, true, "", ""},
		"pattern over both":     {other, core, approval.Pattern, "*", false, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := &careless{}
			in := func(folder string, target *tool.Tool) error {
				return do(newGate(t, approval.Options{
					Rules: compile(t, approval.RuleSet{Otherwise: approval.RuleAsk}), Folder: folder, Store: store,
					Routes: []approval.Route{approval.Elsewhere{}},
				}), target, `{"path":"x.txt"}`, call.Origin{Session: "s"})
			}
			blocked(t, in("/home/ann/a", c.asked), "pending")
			r := only(t, &store.Memory, approval.Pending)
			if r.Folder != c.folder {
				t.Errorf("the record names the folder %q, want %q", r.Folder, c.folder)
			}
			if text := (approval.Request{Record: r, Call: r.Args}).Text(); !strings.Contains(text, c.question) || c.question == "" && strings.Contains(text, "Folder:") {
				t.Errorf("the question is %q, want %q in it", text, c.question)
			}
			change(t, store, r.ID, approval.Change{
				From: approval.Pending, To: approval.Approved, Scope: c.scope, Pattern: c.pattern, Expires: time.Now().Add(time.Hour),
			})
			if err := in("/home/ann/b", c.called); (err == nil) != c.inOther {
				t.Errorf("in another folder: %v; want it to run: %v", err, c.inOther)
			}
			if err := in("/home/ann/a", c.called); (err == nil) != c.inSame {
				t.Errorf("in the same folder: %v; want it to run: %v", err, c.inSame)
			}
		})
	}
}
