package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/toolsearch/toolsearch/tool"
)

//go:embed text/*.md schema/*.json
var definitions embed.FS

// maxDescription bounds, in bytes, what a tool's description may cost a model.
const maxDescription = 400

// traits are what the code, rather than a text file, says about a tool.
type traits struct {
	name       string
	label      string
	hint       string // words people use for it that its description does not hold
	mode       tool.CatalogMode
	readOnly   bool
	idempotent bool
	openWorld  bool
	invoker    tool.Invoker
}

// define builds the tools. A tool that is not read-only is destructive: write
// and edit replace text, and exec can do anything.
func (s *Source) define() ([]*tool.Tool, error) {
	all := []traits{
		{name: "read", label: "Read file", hint: "open view cat show file contents", readOnly: true, idempotent: true, invoker: invoke(s, s.read)},
		{name: "write", label: "Write file", hint: "create save overwrite new file", idempotent: true, invoker: invoke(s, s.write)},
		{name: "edit", label: "Edit file", hint: "replace change modify patch text in file", invoker: invoke(s, s.edit)},
		{name: "list", label: "List folder", hint: "ls dir tree find files directory", readOnly: true, idempotent: true, invoker: invoke(s, s.list)},
		{name: "grep", label: "Search files", hint: "search find text regex rg in files", readOnly: true, idempotent: true, invoker: invoke(s, s.grep)},
		{name: "exec", label: "Run command", hint: "bash shell terminal run script process", openWorld: true, invoker: invoke(s, s.exec)},
		{name: "web_fetch", label: "Fetch web page", hint: "http get url download website curl", readOnly: true, idempotent: true, openWorld: true, invoker: invoke(s, s.fetch)},
		{name: "image", label: "View image", hint: "picture photo screenshot png jpeg", mode: tool.DirectOnly, readOnly: true, idempotent: true, invoker: invoke(s, s.image)},
	}
	tools := make([]*tool.Tool, 0, len(all))
	for _, t := range all {
		built, err := t.build()
		if err != nil {
			return nil, fmt.Errorf("core tools: define %s: %w", t.name, err)
		}
		tools = append(tools, built)
	}
	return tools, nil
}

func (t traits) build() (*tool.Tool, error) {
	text, err := definitions.ReadFile("text/" + t.name + ".md")
	if err != nil {
		return nil, err
	}
	input, err := schema(t.name + ".input.json")
	if err != nil {
		return nil, err
	}
	output, err := schema(t.name + ".output.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a tool that returns text declares none
		return nil, err
	}
	description := strings.Join(strings.Fields(string(text)), " ")
	if len(description) > maxDescription {
		return nil, fmt.Errorf("the description has %d bytes; at most %d are allowed", len(description), maxDescription)
	}
	destructive := !t.readOnly
	built := &tool.Tool{
		ID:          tool.NewID(tool.OpenClaw, tool.CoreOwner, t.name),
		Source:      tool.OpenClaw,
		Owner:       tool.CoreOwner,
		Name:        t.name,
		Label:       t.label,
		Description: description,
		SearchHint:  t.hint,
		Mode:        t.mode,
		Input:       tool.RawSchema(input),
		TrustSchema: true,
		Annotations: tool.Annotations{
			Title:       t.label,
			ReadOnly:    &t.readOnly,
			Destructive: &destructive,
			Idempotent:  &t.idempotent,
			OpenWorld:   &t.openWorld,
		},
		Sequential: destructive,
		Invoker:    t.invoker,
	}
	if output != nil {
		built.Output = tool.RawSchema(output)
	}
	built.Revision, err = revision(built)
	return built, err
}

// schema returns an embedded schema without its white space.
func schema(file string) (json.RawMessage, error) {
	raw, err := definitions.ReadFile("schema/" + file)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, fmt.Errorf("schema %s: %w", file, err)
	}
	return b.Bytes(), nil
}

// revision is a digest of everything in the definition.
func revision(t *tool.Tool) (string, error) {
	def := struct {
		Name, Label, Description, Hint string
		Mode                           tool.CatalogMode
		Input, Output                  json.RawMessage
		Annotations                    tool.Annotations
	}{t.Name, t.Label, t.Description, t.SearchHint, t.Mode, t.Input.JSON(), nil, t.Annotations}
	if t.Output != nil {
		def.Output = t.Output.JSON()
	}
	raw, err := json.Marshal(def)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}

// invoke makes an invoker of a typed function: it decodes the arguments
// strictly, ties the call to the life of the source, and turns failures into
// what a model can read.
func invoke[A any](s *Source, run func(context.Context, A) (*tool.Result, error)) tool.Invoker {
	return tool.InvokerFunc(func(ctx context.Context, c tool.Call) (*tool.Result, error) {
		var args A
		if err := decode(c.Args, &args); err != nil {
			return nil, &tool.Error{Code: tool.CodeInvalidArgs, Reason: err.Error(),
				Next: "Correct the arguments by the tool's schema and call again", Err: err}
		}
		ctx, leave, err := s.enter(ctx)
		if err != nil {
			return nil, stopped(err)
		}
		defer leave()
		if ctx.Err() != nil {
			return nil, stopped(context.Cause(ctx))
		}
		res, err := run(ctx, args)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return nil, stopped(context.Cause(ctx))
		}
		return failure(err).Result(), nil
	})
}
