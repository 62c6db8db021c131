// Package approval asks a human before a tool runs.
//
// A [Gate] is a stage of the pipeline. Its [Rules] say of each tool whether a
// call is allowed, refused, or must be asked about. What is asked becomes a
// [Record] in a [Store], and the [Route]s carry it to somebody who can answer:
// a prompt in the terminal, a form in the MCP client, a function, or another
// process that changes the record.
//
// # What one approval is good for
//
//   - A record binds the caller, the agent, the tool, the digest of the canonical
//     arguments, the version of the policy and of the rules, and an expiry; for a
//     core tool also the working folder. When one of them differs, it does not
//     count.
//   - Scope once: it is good for one call with these arguments. Using it is a
//     compare-and-set in the store, so that of many callers in many processes one
//     wins.
//   - Scope session: it is good for the same tool with any arguments, inside the
//     session, until it expires. Scope pattern: for the tools of a pattern, for the
//     same caller and agent in any session, until it expires.
//   - A denial stands as long as the request would have: the same call is refused
//     with its reason, and nobody is asked, unless an approval came later.
//   - The record is the truth; routes only bring answers to it. The first answer
//     counts, wherever it comes from.
//
// # When in doubt
//
// It is a refusal: no route, a route or store that fails, an expiry, a cancelled
// call, a limit, an answer that is none. Rules come before approvals: what a deny
// rule matches, no approval allows.
package approval
