// Package config finds, reads, checks, watches and edits the program's one
// configuration file, which is JSON5.
//
// A file is read as a whole: every fault in it is reported at once, with file,
// line, column and key, and nothing is used of a file that has one. Numbers out
// of bounds are the exception: they are clamped, with a warning. References to
// variables such as ${TOKEN} are kept as they stand; Server.Resolve expands
// them at the moment a server starts, and what they hold is never stored,
// written back, or part of an error.
//
// An openclaw.json with the sections tools, mcp and agents is such a file.
// Which unknown keys are faults: every one inside a section of ours that has
// the form of a record (tools.toolSearch, mcp.servers.<name>, a policy), and
// elsewhere one that looks like a misspelt key of ours. All others are other
// programs' business, ignored with one warning that lists them.
//
// The field tables (fields.go and its neighbours) are the single source for
// reading, for "did you mean", and for Reference.
package config

import (
	"fmt"
	"strings"
	"time"
)

// Pos is a place in a configuration file. Line and Column count from 1.
type Pos struct {
	File         string
	Line, Column int
}

// String returns file:line:column, or "" for no place.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Config is one configuration, checked and with its defaults filled in. It is
// immutable: share it, and replace it as a whole when the file changes.
type Config struct {
	Path      string // absolute; "" when there is no file and all is default
	Tools     Tools
	MCP       MCP
	Models    Models
	Serve     Serve
	Telemetry Telemetry
	Agents    []Agent // in the file's order
	Warnings  []Warning
}

// Tools is the section tools.
type Tools struct {
	Policy
	Calls
	ToolSearch ToolSearch // for an agent, see Config.ToolSearchFor
	Core       *bool      // tools.core; nil when the file does not say
}

// MCP is the section mcp.
type MCP struct {
	Servers []Server // in the file's order
}

// Agent is one entry of agents.list, or of agents.entries as newer openclaw.json
// files have it.
type Agent struct {
	ID         string
	Pos        Pos
	Model      ModelRef // models.default when its Ref is ""
	Policy     Policy
	Core       *bool
	ToolSearch ToolSearch // the global block with the agent's fields over it
}

// Policy holds the tool rules of one scope: global, or one agent.
type Policy struct {
	Rules
	ByProvider []NamedRules // by model provider, or provider/model
	ByGroup    []NamedRules // by chat group
	BySender   []NamedRules // by who asks; "*" for those without an entry
	Sandbox    Rules        // sandbox.tools: sandboxed runs
	Subagents  Rules        // subagents.tools: runs started by other runs
}

// Rules filter tools. The zero value changes nothing.
type Rules struct {
	Profile    string // "", "minimal", "coding", "messaging" or "full"
	ProfilePos Pos
	Allow      []Rule // empty allows all
	AlsoAllow  []Rule // adds to the profile; never beside Allow
	Deny       []Rule
}

// NamedRules are rules for one provider, group or sender.
type NamedRules struct {
	Name string
	Pos  Pos
	Rules
}

// Rule is one pattern of a policy list, and where it stands.
type Rule struct {
	Pattern string
	Pos     Pos
}

// Mode is how a model meets the tools (tools.toolSearch.mode).
type Mode string

// The modes.
const (
	ModeCode      Mode = "code"
	ModeTools     Mode = "tools"
	ModeDirectory Mode = "directory"
	ModeAuto      Mode = "auto"
)

// Runtime is what runs code mode's bodies (tools.toolSearch.runtime).
type Runtime string

// The runtimes.
const (
	RuntimeEmbedded Runtime = "embedded"
	RuntimeNode     Runtime = "node"
)

// ToolSearch is tools.toolSearch with defaults filled in and numbers clamped.
// All fields are set even when Enabled is false.
type ToolSearch struct {
	Enabled            bool
	Mode               Mode
	CodeTimeout        time.Duration
	MaxSearchLimit     int
	SearchDefaultLimit int // at most MaxSearchLimit
	Runtime            Runtime
	Code               CodeLimits
	Directory          Directory
}

// Directory is tools.toolSearch.directory.
type Directory struct {
	Required []string // ids or names of tools that the model sees itself; at most turn.MaxRequired
	Likely   bool     // show also tools that the current message is probably about
}

// CodeLimits are the caps of one code run. None is ever zero or unlimited.
type CodeLimits struct {
	CodeBytes   int // of the body
	LogBytes    int
	ResultBytes int
	MemoryBytes int // of the guest
	InFlight    int // bridge calls at one time
	Calls       int // bridge calls in all
	Children    int // child processes at one time, of the whole program
}

// Agent returns the entry of an agent. Ids are compared without regard to
// case, so that a rule is not missed for a capital letter.
func (c *Config) Agent(id string) (Agent, bool) {
	for _, a := range c.Agents {
		if strings.EqualFold(a.ID, strings.TrimSpace(id)) {
			return a, true
		}
	}
	return Agent{}, false
}

// ToolSearchFor returns the tool search settings of an agent: the global ones
// for an agent without an entry, and for "".
func (c *Config) ToolSearchFor(agent string) ToolSearch {
	if a, ok := c.Agent(agent); ok {
		return a.ToolSearch
	}
	return c.Tools.ToolSearch
}

// Server returns the server of a name.
func (c *Config) Server(name string) (Server, bool) {
	for _, s := range c.MCP.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// Default returns the configuration of no file.
func Default() *Config {
	return &Config{Tools: Tools{Calls: defaultCalls(), ToolSearch: (&searchBlock{}).resolve(nil, nil)}, Serve: defaultServe(), Telemetry: defaultTelemetry()}
}
