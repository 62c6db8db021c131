package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/tool"
)

// maxShownTools bounds the tools that are shown before a plugin is installed.
const maxShownTools = 100

// printTrust shows what a plugin will be trusted with, on stderr. Everything in
// it may be hostile until the answer is yes.
func printTrust(s *streams, p *plugin.Plugin) {
	show := func(text string) string { return approval.Visible(oneLine(text, 300)) }
	version := ""
	if p.Version != "" {
		version = " " + show(p.Version)
	}
	fmt.Fprintf(s.err, "Plugin %s%s: %s\n", p.ID, version, show(p.Name))
	if p.Description != "" {
		fmt.Fprintf(s.err, "  %s\n", show(p.Description))
	}
	if p.Start != nil {
		fmt.Fprintf(s.err, "It runs, as you: %s\n", commandLine(p.Start.Command, p.Start.Args))
		if p.Start.Cwd != "" {
			fmt.Fprintf(s.err, "  in its folder %s\n", show(p.Start.Cwd))
		}
		printVars(s, "with", p.Start.Env)
	}
	if len(p.Tools) > 0 {
		fmt.Fprintf(s.err, "It brings %d tools:\n", len(p.Tools))
		for i, t := range p.Tools {
			if i == maxShownTools {
				fmt.Fprintf(s.err, "  and %d more\n", len(p.Tools)-i)
				break
			}
			fmt.Fprintf(s.err, "  %s: %s\n", t.Name, approval.Visible(oneLine(t.Description, 120)))
		}
	}
	for _, h := range p.Hooks {
		verb := "sees, and may block or change,"
		if h.Event == hook.After {
			verb = "sees, and may change, the results of"
		}
		fmt.Fprintf(s.err, "Its hook %s %s calls of %s\n", show(h.Name), verb, show(strings.Join(h.Match, ", ")))
		if h.URL != "" {
			fmt.Fprintf(s.err, "  by sending them to %s\n", show(h.URL))
			printVars(s, "with headers", h.Headers)
			continue
		}
		fmt.Fprintf(s.err, "  by running, as you: %s\n", commandLine(h.Command, h.Args))
		printVars(s, "with", h.Env)
	}
}

func printVars(s *streams, with string, vars []plugin.Var) {
	for _, v := range vars {
		fmt.Fprintf(s.err, "  %s %s=%s\n", with, approval.Visible(oneLine(v.Name, 100)), approval.Visible(oneLine(v.Value, 200)))
	}
}

// commandLine writes a command so that each argument can be told from the next.
func commandLine(command string, args []string) string {
	words := make([]string, 0, len(args)+1)
	for _, w := range append([]string{command}, args...) {
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\") {
			w = fmt.Sprintf("%q", w)
		}
		words = append(words, approval.Visible(w))
	}
	line, _ := tool.CutChars(strings.Join(words, " "), 2000)
	return line
}

// interactive reports whether somebody can be asked: both sides of the
// conversation are a terminal.
func (s *streams) interactive() bool {
	in, ok := s.in.(*os.File)
	return ok && s.errTTY && term.IsTerminal(int(in.Fd()))
}

// confirm asks on stderr and reads the answer; anything but y or yes is no. When
// ctx ends first, the read is left behind: the program ends then.
func (s *streams) confirm(ctx context.Context, question string) (bool, error) {
	if in, ok := s.in.(*os.File); ok {
		dropTypedAhead(in) // nothing typed before the question answers it
	}
	fmt.Fprintf(s.err, "%s [y/N] ", question)
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(s.in, 1000)).ReadString('\n')
		replies <- reply{text, err}
	}()
	select {
	case r := <-replies:
		if r.err != nil && r.err != io.EOF {
			return false, fmt.Errorf("read the answer: %w", r.err)
		}
		switch strings.ToLower(strings.TrimSpace(r.text)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	case <-ctx.Done():
		fmt.Fprintln(s.err)
		return false, ctx.Err()
	}
}

// pluginJSON is a plugin as --json prints it.
type pluginJSON struct {
	ID          string           `json:"id"`
	Name        string           `json:"name,omitempty"`
	Description string           `json:"description,omitempty"`
	Version     string           `json:"version,omitempty"`
	Dir         string           `json:"dir"`
	Tools       []tool.ID        `json:"tools"`
	Hooks       []pluginHookJSON `json:"hooks"`
	Command     []string         `json:"command,omitempty"`
	Problem     string           `json:"problem,omitempty"` // why it cannot be used
}

type pluginHookJSON struct {
	Name    string     `json:"name"`
	Event   hook.Event `json:"event"`
	Match   []string   `json:"match"`
	Command []string   `json:"command,omitempty"`
	URL     string     `json:"url,omitempty"`
}

func pluginJSONOf(p *plugin.Plugin) pluginJSON {
	out := pluginJSON{
		ID: p.ID, Name: p.Name, Description: p.Description, Version: p.Version, Dir: p.Dir,
		Tools: []tool.ID{}, Hooks: []pluginHookJSON{},
	}
	for _, t := range p.Tools {
		out.Tools = append(out.Tools, t.ID)
	}
	for _, h := range p.Hooks {
		j := pluginHookJSON{Name: h.Name, Event: h.Event, Match: h.Match, URL: h.URL}
		if h.Command != "" {
			j.Command = append([]string{h.Command}, h.Args...)
		}
		out.Hooks = append(out.Hooks, j)
	}
	if p.Start != nil {
		out.Command = append([]string{p.Start.Command}, p.Start.Args...)
	}
	return out
}

func printPluginsJSON(s *streams, plugins []*plugin.Plugin, problems []plugin.Problem) error {
	out := []pluginJSON{}
	for _, p := range plugins {
		out = append(out, pluginJSONOf(p))
	}
	for _, p := range problems {
		out = append(out, pluginJSON{Dir: p.Dir, Tools: []tool.ID{}, Hooks: []pluginHookJSON{}, Problem: cleanBlock(p.Error())})
	}
	return s.printJSON(out)
}
