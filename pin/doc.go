// Package pin trusts the tools of MCP servers on first use. A server may change
// what a tool says of itself at any time, also after a person has looked at it;
// the changed text reaches a model and may hold instructions. A Pinner remembers
// each definition at first sight and holds calls to it: a tool whose definition
// has changed is not called until a person has seen the difference and accepted
// it. New tools are allowed, unless they are a change in disguise: a definition
// that waits under one name and comes again under another waits there too.
//
// Tools of other sources are trusted by installation, or live only as long as the
// run that brings them, and are not pinned.
package pin
