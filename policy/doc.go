// Package policy decides which tools one run may use, and says which rule of
// which file decided.
//
// A policy is a list of filters. A filter can only remove, so their order
// changes what an explanation names and never what is left:
//
//	profile → profile of the model provider → global → provider → agent →
//	agent per provider → group or sender → sandbox → subagent → run
//
// # One filter
//
// A tool passes when no entry of Deny matches it and, where Allow is not empty,
// some entry of Allow does. An absent or empty Allow allows everything. Deny
// beats Allow. Allow together with AlsoAllow in one block is an error.
//
// A profile is a ready-made allow list: minimal, coding, messaging or full. The
// agent's Profile stands in for the global one, and its AlsoAllow for the global
// AlsoAllow; likewise the agent's block for a provider stands in for the global
// block for that provider. AlsoAllow adds to the profile it belongs to. Choosing
// that baseline is the only thing in which a later block can widen an earlier
// one, and only for the operator's own blocks: in every other scope a profile is
// one more filter.
//
// # What an entry matches
//
// Case does not matter, and '*' stands for any text.
//
//	exec                the tools of that name; bash and other aliases mean the same
//	create_*            names by glob
//	*                   every tool
//	group:fs            a group of built-in tools (builtin.txt lists them)
//	group:openclaw      every built-in tool
//	crm                 every tool of the plugin with that id
//	group:plugins       every plugin's tools, and MCP tools
//	bundle-mcp          every MCP tool (group:mcp says the same)
//	mcp:calendar        every tool of that MCP server; also openclaw:crm, client:client
//	mcp:calendar:list   one tool by its id; both parts take '*'
//	calendar__list      one MCP tool, as OpenClaw writes it; both parts take '*'
//	group:client        every tool the caller of the run brings
//	group:controls      tool_search, tool_describe, tool_call and tool_search_code
//
// # What is decided in doubt
//
// Names come from MCP servers and clients and are hostile. An entry of Deny
// therefore matches at least what the same entry of Allow does:
//
//   - Groups hold the product's own tools and plugins', never an MCP server's
//     tool that bears such a name.
//   - An entry of Allow that is the name of a built-in tool means that tool and
//     no MCP or client tool of the same name; write mcp:server:name for that one.
//     The same entry of Deny removes them all.
//   - In Allow the parts of an id are compared one by one, so that a ':' inside
//     a name cannot imitate another server. Deny also tries the id as a whole.
//   - In Deny, letters fold as Unicode folds them (the Kelvin sign is a k); in
//     Allow only ASCII letters fold to ASCII letters.
//   - A tool without a known source or without a name is never allowed.
//
// # Controls
//
// The controls are infrastructure. Profiles and allow lists are about what may be
// done and leave them alone: `allow: ["bundle-mcp"]` still searches. Only Deny
// removes a control: by name, id, a glob on its name, or group:controls. Entries
// that mean the product's tools at large (group:openclaw, openclaw:core) do not.
// Policy.Control answers for one control by name.
package policy
