// Package hook asks the operator's own programs, endpoints or Go functions about
// every call: before it, whether it may be made and with which arguments, and
// after it, what a model reads of the result.
//
// # The order
//
// The hooks of a Set run one after another in the order they were given. Each sees
// what the one before it left. A before hook may let the call go on, block it,
// replace its arguments, or ask for approval. Approval is asked for once, when all
// before hooks have spoken, with the arguments as they are then: nobody is asked
// about a call that a later hook blocks or changes. The stage passes replaced
// arguments on; validation has to stand behind it.
//
// After hooks run when the target has answered, also when its answer reports an
// error of its own. A call that ended without an answer has nothing to show them.
//
// # Failing
//
// A hook is asked because its answer matters, so one that gives none blocks: when
// it crashes, hangs beyond its timeout, exits with a status other than 0, prints
// nothing, too much or no JSON, answers with something unknown or contradictory, or
// closes the connection. A before hook that fails means that the target never runs.
// An after hook that fails turns the result into an error which says that side
// effects may have happened.
//
// # The documents
//
// A command gets an Input as one JSON document on stdin and answers with one
// decision on stdout; an endpoint gets it as the body of a POST and answers with
// status 200 and the decision. A decision is one JSON object:
//
//	{"decision": "continue"}
//	{"decision": "block", "reason": "…"}
//	{"decision": "replace", "args": {…}}       before: these arguments instead
//	{"decision": "ask", "reason": "…"}         before: a person has to approve
//	{"decision": "replace", "result": {…}}     after: this result instead, in the form of Result
//	{"decision": "annotate", "note": "…"}      after: the result and a note behind it
//
// It has these members and no others: a member that does not belong to the decision
// is as wrong as a missing one. A reason is optional, and cut to 500 bytes.
package hook
