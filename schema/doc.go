// Package schema reads JSON Schemas of tools: it renders them as short
// TypeScript-style signatures, takes the words a search index wants, and
// validates documents with errors that a model can act on. It does not know
// where schemas come from; every schema and every document is taken as hostile.
//
// # Reading
//
// Schemas and documents go through one decoder that bounds length, depth and
// the number of values before it spends anything on them, and that refuses
// what two readers could understand differently: invalid UTF-8 and a name
// given twice in one object. Numbers keep their text, so integers of any size
// that is accepted compare exactly (at most 1,000 characters, exponents up to
// 400). An unreadable schema has the signature "unknown" and does not compile.
//
// # Signatures
//
// Input and Output print a type of bounded length, depth, width and
// vocabulary. Object properties stand in a fixed order (required ones first,
// each group by bytes), so the same schema always gives the same bytes. Where
// the contract leaves a choice, this is what was chosen:
//
//   - Lengths are Unicode code points. The bound on an enum's text covers the
//     literals as printed, with quotes and separators; const is an enum of one.
//   - The root is level 1; a property's value or an array's items are one level
//     deeper; the alternatives of a union are on the union's own level. A
//     schema below the deepest level is "unknown".
//   - An object is closed by additionalProperties: false and by nothing else.
//     It is open by declaration when additionalProperties is anything else, or
//     when there is no properties keyword at all: {"type":"object"} prints
//     "{ ... }". An empty properties without additionalProperties prints "{}".
//   - "..." also stands for properties over the bound, names over 128
//     characters, and required names that properties does not declare.
//   - The members of a union are the branches of anyOf or oneOf or the entries
//     of a type list, null included, as they stand. A union or enum over its
//     bound is "unknown", not cut: half a list of choices reads like a whole
//     one. So is a union with an unknown member. Equal texts print once, null
//     once and last.
//   - anyOf or oneOf beside keywords that describe the value itself is an
//     intersection, and so a composition: "unknown".
//   - A tuple prints Array<unknown>. Boolean schemas and the empty schema are
//     "unknown".
//   - nullable: true (OpenAPI 3.0) adds null. For validation it adds null to
//     type and enum as well, so that both tell the same.
//   - Without type, properties or items tell the type, but the result is never
//     complete, since other values are let through.
//   - Names that are no ASCII identifiers, and all text literals, are printed
//     as JSON strings in which whatever is invisible, reorders text or is not
//     assigned is escaped.
//
// A rendering is complete if nothing was left out, every object is closed, and
// no part is unknown. Constraints that narrow a type without changing it
// (pattern, minimum, format) are not shown and do not count.
//
// # Validation
//
// The validator is santhosh-tekuri/jsonschema, hedged in:
//
//   - It loads nothing. References lead into the schema itself or to the
//     official metaschemas, which are built in.
//   - A schema that applies itself to the same value again, or that chains
//     more than 64 schemas on one value, does not compile. Recursion through
//     properties and items is fine.
//   - A schema of more than 8,000 objects and booleans or 256 different
//     patterns does not compile, since the compiler's time grows with the
//     square of them. Documents have at most 64 levels, 200,000 values, 4 MiB.
//   - Work is metered, step by step: a schema of a hundred lines can ask for
//     2^50 comparisons. Matches of patterns count by length, and patterns that
//     need backtracking share a second per pass: one decides, one explains.
//   - A check that runs over a bound is undecided, and undecided counts as
//     broken, for every source: the document is refused with a problem that
//     says so. Answering "no match" instead could let a value through under
//     "not" or patternProperties.
//   - Patterns are ECMAScript. Those that mean the same in RE2 run there, in
//     linear time; the rest run on a backtracking engine.
//   - format is an annotation in every dialect, as 2020-12 says: servers
//     disagree about what an e-mail address is, and a false refusal costs more
//     than a late one.
//
// A schema that does not compile says nothing about its tool: callers treat
// the tool as unvalidated and do not hide it.
//
// A ValidationError lists the broken constraints in a fixed order, each with a
// JSON pointer, the keyword, what was expected and found, and, where a name or
// a value looks misspelt, the nearest one.
package schema
