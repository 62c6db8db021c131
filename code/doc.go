// Package code runs JavaScript that a model wrote, in a process that can do
// nothing but compute and ask for tools.
//
// A [Runner] keeps a few confined children waiting. [Runner.Run] gives one of
// them one body, answers the tool requests that come back, and returns a
// [Report]; the child dies with its run. The runner knows nothing of what the
// tools do: they are behind a [Host].
//
// # What the body sees
//
// The body is the inside of an async function: await and return work at its
// top level. Beside the language itself it sees console.log, warn and error,
// and three functions:
//
//	openclaw.tools.search(query, options)  → what Host.Search returned
//	openclaw.tools.describe(id)            → what Host.Describe returned
//	openclaw.tools.call(id, args)          → {tool, result}
//
// They return thenables: nothing is sent until one is awaited or its then is
// called, and one that is never awaited never runs. Arguments are read when the
// function is called. The run ends when no started request is in flight.
//
// In {tool, result}, tool is [CallReply].Tool, and result has the tool's content
// blocks and, when there are any, its details. A tool that answered with one text
// block of JSON and no details has result.details too, but not enumerable, so
// that returning the result returns what the tool said. Image, audio and blob
// blocks cross as handles, {"$content": id, "mimeType", "bytes"}; a handle that
// is part of the returned value becomes the block again, byte for byte, in
// [Report].Content. A result that reports an error throws an Error in the body
// whose message is the tool's text.
//
// The value is JSON. What JSON has no word for degrades: undefined is null, a
// BigInt its decimal digits, an Error {name, message}, a Map a list of pairs, a
// Set a list, a circular reference "[Circular]", a function "[Function: name]" at
// the top and nothing inside. Arguments of a request follow the same rules,
// except that a circular one throws.
//
// One code fence around the body, export default, a bare arrow or async
// function, and TypeScript types are accepted.
//
// # Differences between the runtimes
//
// Both runtimes run the same prelude over the same protocol and pass the same
// tests. They differ in: the texts of the engine's own errors; the column of
// an error (QuickJS points at the call's parenthesis or operator, V8 at the
// name); Intl and Temporal, which only node has; TypeScript, where node erases
// types and the embedded runtime also compiles enums and the like; memory, where
// node needs far more than its heap limit; a dynamic import, which the embedded
// runtime rejects and node leaves unsettled; a body that puts setters of indices on
// Array.prototype, which the embedded runtime's own JSON.stringify runs; and the
// confinement, see [Runner.Layers].
//
// Logs and values are the body's own words: whoever shows them on a terminal
// cleans them. The texts of a [GuestError] are clean and bounded.
package code
