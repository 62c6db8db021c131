// Package plugin reads installed plugins and offers their tools.
//
// A plugin is a folder with a manifest, plugin.json5. The manifest says what
// the plugin is, which tools it has, with which schemas, which hooks it wants
// run, and how to start the process behind its tools. That process speaks MCP
// over its standard streams. Whoever installs a plugin trusts it: its tools are
// openclaw:<plugin>:<tool>, and their schemas are read by search.
//
// # What a Source promises
//
//  1. The manifest decides. The tools and their schemas are those it declares,
//     known before any process runs. What the process lists beside them is not
//     offered, and is reported once.
//  2. A process starts with the first call, serves all calls, and is stopped
//     after a time without any. A start that failed is not tried again before a
//     pause that doubles with each failure.
//  3. One plugin never harms another: each has a process group, timeouts and
//     bounds of its own.
//  4. Nothing is left behind. After Close no process, no goroutine and no
//     descriptor remains.
//
// Installing is Stage, which copies a folder beside the installed ones and
// reads the copy, and then Staged.Commit, which moves it into place.
package plugin

import (
	"path/filepath"
	"time"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/tool"
)

// ManifestName is the file that makes a folder a plugin.
const ManifestName = "plugin.json5"

// Plugin is what a manifest says. It is immutable.
type Plugin struct {
	ID          string // the owner of its tools, and what stands for them in a policy
	Name        string // for people; the id when the manifest gives none
	Description string
	Version     string
	Dir         string // the plugin's folder, absolute

	// Tools are as the manifest declares them, in its order. They cannot be
	// called: a Source makes them callable.
	Tools []*tool.Tool
	// Hooks stand in the manifest's order, those before a call first.
	Hooks []Hook
	// Start is nil for a plugin that has only hooks.
	Start *Start

	schemas []placedSchema
}

// Start says how to run the process behind a plugin's tools. Its texts may hold
// variables: see Expand.
type Start struct {
	Command string
	Args    []string
	Env     []Var  // sorted by name, added to the minimal environment
	Cwd     string // relative to the plugin's folder, "" for the folder itself

	StartTimeout time.Duration // until its tools are listed
	CallTimeout  time.Duration // one call
	IdleTimeout  time.Duration // without a call, before it is stopped; 0 = as Options say
}

// Var is an environment variable or a header.
type Var struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Hook is something a plugin wants run around tool calls: a command or a URL.
// Its texts may hold variables: see Expand. Ready makes it runnable.
type Hook struct {
	Plugin  string // the plugin's id
	Name    string // unique inside the plugin, such as "no-rm" or "before-1"
	Event   hook.Event
	Match   []string // tool patterns, as in tools.allow; never empty
	Timeout time.Duration

	Command string // one of Command and URL is set
	Args    []string
	Env     []Var  // sorted by name
	Dir     string // the plugin's folder, where the command runs
	URL     string
	Headers []Var // sorted by name
}

// program returns what to run for a command of the manifest: a program inside
// the plugin's folder when it names a path there.
func program(dir, command string) string {
	if filepath.Base(command) == command || filepath.IsAbs(command) {
		return command
	}
	return filepath.Join(dir, filepath.FromSlash(command))
}
