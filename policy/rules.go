package policy

import (
	"fmt"
	"strconv"
)

// Bounds of what Compile accepts. Beyond them it returns an error: a rule that
// is cut short or skipped would open what it was meant to close.
const (
	MaxLayers    = 64   // layers of one policy
	MaxEntries   = 4096 // entries of one list
	MaxPattern   = 512  // bytes of one entry
	MaxWildcards = 16   // '*', and separate places to split an id, in one entry
)

// Pos is a place in a configuration file. Line counts from 1; 0 means that the
// rule comes from no file, such as one given on the command line.
type Pos struct {
	File string
	Line int
}

// String returns file:line, what is known of it, or "".
func (p Pos) String() string {
	if p.Line <= 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Entry is one entry of a list as it was written, or a profile's name.
type Entry struct {
	Pattern string
	Pos     Pos
}

// Rules is one block of rules as a configuration writes it. The zero value
// removes nothing.
type Rules struct {
	Profile   Entry // no profile when Pattern is ""
	Allow     []Entry
	AlsoAllow []Entry
	Deny      []Entry
}

// Scope says where a block of rules stands, in the order of the filters.
type Scope int

// The scopes. The zero value is none of them, and Compile refuses it.
const (
	ScopeProfile         Scope = iota + 1 // the chosen profile; Compile derives it from the blocks below
	ScopeProviderProfile                  // the profile chosen for the model provider; derived too
	ScopeGlobal                           // tools
	ScopeProvider                         // tools.byProvider
	ScopeAgent                            // agents.list[].tools
	ScopeAgentProvider                    // agents.list[].tools.byProvider
	ScopeGroup                            // a chat group, or the sender
	ScopeSandbox                          // tools.sandbox.tools
	ScopeSubagent                         // tools.subagents.tools
	ScopeRun                              // what one run asked for
)

// String names the scope for people.
func (s Scope) String() string {
	switch s {
	case ScopeProfile:
		return "profile"
	case ScopeProviderProfile:
		return "provider profile"
	case ScopeGlobal:
		return "global"
	case ScopeProvider:
		return "provider"
	case ScopeAgent:
		return "agent"
	case ScopeAgentProvider:
		return "agent provider"
	case ScopeGroup:
		return "group"
	case ScopeSandbox:
		return "sandbox"
	case ScopeSubagent:
		return "subagent"
	case ScopeRun:
		return "run"
	}
	return "scope " + strconv.Itoa(int(s))
}

// Layer is a block of rules in its scope. Name is the block's key in the
// configuration, such as "agents.list[main].tools"; it is printed, not compared.
// Several layers of one scope are several filters.
type Layer struct {
	Scope Scope
	Name  string
	Rules Rules
}

// Warning is something in a rule that works, but hardly as intended.
type Warning struct {
	Scope Scope
	Layer string
	Entry Entry
	Text  string
}

// String returns the warning with its place, ready to print.
func (w Warning) String() string { return place(w.Entry.Pos, w.Layer, w.Scope) + ": " + w.Text }

// ConfigError is a rule that Compile refuses. Compile joins all it finds, in
// the order of the layers.
type ConfigError struct {
	Scope Scope
	Layer string
	Entry Entry
	What  string // what is wrong
	Hint  string // what to do about it
}

// Error names the place, what is wrong and what to do.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("compile tool policy: %s: %s; %s", place(e.Entry.Pos, e.Layer, e.Scope), e.What, e.Hint)
}

// place names a rule's block and its place in the file, as far as known.
func place(p Pos, layer string, s Scope) string {
	if layer == "" {
		layer = s.String() + " rules"
	}
	if at := p.String(); at != "" {
		return layer + " (" + at + ")"
	}
	return layer
}
