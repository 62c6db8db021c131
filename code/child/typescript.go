package child

import (
	"encoding/json"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Strip implements Host. The source is one async function declaration, and so
// is the answer's code without its first and last token: the body alone.
func (b *bridge) Strip(source string) string {
	r := api.Transform(source, api.TransformOptions{
		Loader:     api.LoaderTS,
		Target:     api.ES2024,
		Sourcefile: "body",
		Sourcemap:  api.SourceMapExternal,
		LogLevel:   api.LogLevelSilent,
		// What the body does not use it may still need: nothing is dropped.
		TreeShaking: api.TreeShakingFalse,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	})
	if len(r.Errors) > 0 {
		out := position{Message: r.Errors[0].Text, Line: 1, Column: 1}
		if at := r.Errors[0].Location; at != nil {
			out.Line, out.Column = at.Line, at.Column+1
		}
		raw, _ := json.Marshal(out) // a string and two integers always marshal
		return string(raw)
	}
	code := string(r.Code)
	open, end := strings.IndexByte(code, '{'), strings.LastIndexByte(code, '}')
	if open < 0 || end < open {
		return `{"message":"nothing is left without the types","line":1,"column":1}`
	}
	b.types = parseSourceMap(r.Map)
	raw, err := json.Marshal(struct {
		Code string `json:"code"`
	}{code[open+1 : end]})
	if err != nil {
		return `{"message":"the code without types cannot be read","line":1,"column":1}`
	}
	return string(raw)
}
