package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolsearch/toolsearch/source/core"
	"github.com/toolsearch/toolsearch/tool"
)

// box is a source over a temporary workspace.
type box struct {
	*core.Source
	dir string
}

func open(t testing.TB, opt core.Options) box {
	t.Helper()
	if opt.Workspace == "" {
		opt.Workspace = t.TempDir()
	}
	s, err := core.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return box{s, opt.Workspace}
}

// put writes a file of the workspace behind the tools' back.
func (b box) put(t testing.TB, name, text string) {
	t.Helper()
	p := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b box) get(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (b box) tool(t testing.TB, name string) *tool.Tool {
	t.Helper()
	for _, tl := range b.Tools() {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

type args map[string]any

func (b box) try(ctx context.Context, t testing.TB, name string, a args) (*tool.Result, error) {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return b.tool(t, name).Invoker.Invoke(ctx, tool.Call{Args: raw})
}

// ok calls a tool that must succeed, and holds its details to its schema.
func (b box) ok(t testing.TB, name string, a args) *tool.Result {
	t.Helper()
	res, err := b.try(t.Context(), t, name, a)
	if err != nil {
		t.Fatalf("%s %v: %v", name, a, err)
	}
	if res.IsError {
		t.Fatalf("%s %v: %s", name, a, res.Text())
	}
	b.checkOutput(t, name, res)
	return res
}

// checkOutput validates details as the pipeline does.
func (b box) checkOutput(t testing.TB, name string, res *tool.Result) {
	t.Helper()
	out := b.tool(t, name).Output
	if (out == nil) != (res.Details == nil) {
		t.Fatalf("%s: output schema %v, details %s", name, out != nil, res.Details)
	}
	if out != nil {
		validate(t, out.JSON(), res.Details)
	}
}

func validate(t testing.TB, schema, value []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:schema", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Fatalf("%s breaks its schema: %v", value, err)
	}
}

// refused calls a tool that must fail in its own words, which are checked to
// hold every wanted piece.
func (b box) refused(t testing.TB, name string, a args, code tool.Code, want ...string) string {
	t.Helper()
	res, err := b.try(t.Context(), t, name, a)
	if err != nil {
		t.Fatalf("%s %v: an error instead of a result: %v", name, a, err)
	}
	if !res.IsError {
		t.Fatalf("%s %v worked: %.300s", name, a, res.Text())
	}
	var said struct {
		Code         tool.Code
		Reason, Next string
	}
	if err := json.Unmarshal(res.Details, &said); err != nil {
		t.Fatalf("%s %v: details %s: %v", name, a, res.Details, err)
	}
	if said.Code != code {
		t.Errorf("%s %v: code %q, want %q: %s", name, a, said.Code, code, said.Reason)
	}
	all := said.Reason + "\n" + said.Next
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("%s %v: %q does not say %q", name, a, all, w)
		}
	}
	return all
}

func details[T any](t testing.TB, res *tool.Result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(res.Details, &v); err != nil {
		t.Fatalf("details %s: %v", res.Details, err)
	}
	return v
}

func TestDefinitions(t *testing.T) {
	b := open(t, core.Options{})
	var names []string
	for _, tl := range b.Tools() {
		names = append(names, tl.Name)
		if want := tool.NewID(tool.OpenClaw, "core", tl.Name); tl.ID != want {
			t.Errorf("id %q, want %q", tl.ID, want)
		}
		if n := len(tl.Description); n == 0 || n > 400 {
			t.Errorf("%s: description of %d bytes, want 1 to 400", tl.Name, n)
		}
		if strings.ContainsAny(tl.Description, "\n\t") {
			t.Errorf("%s: description has line breaks", tl.Name)
		}
		if tl.Revision == "" || tl.Invoker == nil {
			t.Errorf("%s: no revision or no invoker", tl.Name)
		}
		if (tl.Mode == tool.DirectOnly) != (tl.Name == "image") {
			t.Errorf("%s: mode %q", tl.Name, tl.Mode)
		}
		checkClosed(t, tl.Name+" input", tl.Input.JSON())
		if n := len(tl.Input.JSON()); n > 1200 {
			t.Errorf("%s: input schema of %d bytes, want at most 1200", tl.Name, n)
		}
		if tl.Output != nil {
			checkClosed(t, tl.Name+" output", tl.Output.JSON())
		}
		changes := slices.Contains([]string{"write", "edit", "exec"}, tl.Name)
		if tl.Annotations.MayDestroy() != changes || *tl.Annotations.ReadOnly == changes {
			t.Errorf("%s: annotations %+v", tl.Name, tl.Annotations)
		}
		if open := tl.Name == "exec" || tl.Name == "web_fetch"; *tl.Annotations.OpenWorld != open {
			t.Errorf("%s: openWorld %v", tl.Name, !open)
		}
	}
	want := []string{"read", "write", "edit", "list", "grep", "exec", "web_fetch", "image"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	other := open(t, core.Options{})
	for i, tl := range other.Tools() {
		if tl.Revision != b.Tools()[i].Revision {
			t.Errorf("%s: the revision depends on the workspace", tl.Name)
		}
	}
}

// checkClosed fails for a schema with an object that is open, by which a
// signature would not be complete.
func checkClosed(t *testing.T, name string, raw []byte) {
	t.Helper()
	var walk func(at string, v any)
	walk = func(at string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if m["type"] == "object" && m["additionalProperties"] != false {
			t.Errorf("%s: the object at %q is open", name, at)
		}
		for k, sub := range m {
			walk(at+"/"+k, sub)
		}
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	walk("", doc)
}

func TestStrictArguments(t *testing.T) {
	b := open(t, core.Options{})
	b.put(t, "a.txt", "one\ntwo\n")
	read := b.tool(t, "read").Invoker
	for _, raw := range []string{
		``, `null`, `[]`, `"a.txt"`, `{`, `{"path":"a.txt"`, `{"path":"a.txt"} {}`,
		`{"path":"a.txt","extra":1}`, `{"Path":"a.txt"}`, `{"path":"a.txt","path":"b.txt"}`,
		`{"path":1}`, `{"path":"a.txt","limit":"1"}`, `{"path":"a.txt","limit":1.5}`, `{"path":"a.txt","limit":1e300}`,
	} {
		res, err := read.Invoke(t.Context(), tool.Call{Args: json.RawMessage(raw)})
		if err == nil || tool.CodeOf(err) != tool.CodeInvalidArgs {
			t.Errorf("%s: %v, %v; want %s", raw, res, err, tool.CodeInvalidArgs)
		}
	}
	for _, raw := range []string{`{"path":"a.txt","limit":1.0}`, `{"path":"a.txt","limit":1e0}`} {
		res, err := read.Invoke(t.Context(), tool.Call{Args: json.RawMessage(raw)})
		if err != nil || res.IsError || res.Content[0].Text() != "one\n" {
			t.Errorf("%s: %v, %v", raw, res, err)
		}
	}
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]core.Options{
		"no workspace":      {},
		"missing workspace": {Workspace: filepath.Join(dir, "none")},
		"file as workspace": {Workspace: file},
		"negative limit":    {Workspace: dir, Limits: core.Limits{ReadBytes: -1}},
		"excessive limit":   {Workspace: dir, Limits: core.Limits{ReadBytes: 1 << 40}},
		"excessive time":    {Workspace: dir, Limits: core.Limits{ExecTimeout: 1 << 60}},
		"too many ports":    {Workspace: dir, FetchPorts: make([]uint16, 65)},
	} {
		if s, err := core.New(opt); err == nil {
			t.Errorf("%s: no error", name)
			_ = s.Close()
		}
	}
}

func TestCancelledAndClosed(t *testing.T) {
	b := open(t, core.Options{})
	b.put(t, "a.txt", "text")
	valid := map[string]args{
		"read": {"path": "a.txt"}, "write": {"path": "b.txt", "content": ""}, "edit": {"path": "a.txt", "oldText": "text", "newText": "x"},
		"list": {}, "grep": {"pattern": "x"}, "exec": {"command": "true"}, "web_fetch": {"url": "http://192.0.2.1"}, "image": {"path": "a.txt"},
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tl := range b.Tools() {
		_, err := b.try(ctx, t, tl.Name, valid[tl.Name])
		if tool.CodeOf(err) != tool.CodeCancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", tl.Name, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tl := range b.Tools() {
		if _, err := b.try(t.Context(), t, tl.Name, valid[tl.Name]); tool.CodeOf(err) != tool.CodeUnavailable {
			t.Errorf("%s after Close: %v", tl.Name, err)
		}
	}
	if b.get(t, "a.txt") != "text" {
		t.Error("a cancelled edit changed the file")
	}
}
