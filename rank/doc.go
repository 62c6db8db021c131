// Package rank finds documents by words: text in, ordered documents out, with
// the reasons. It knows nothing of tools or schemas.
//
// # How a document is scored
//
// Take three tools and the query "scheduling a task":
//
//	cron_add     Schedule a recurring task
//	task_list    List the tasks of a project
//	web_search   Search the web
//
// 1. Cutting (token.go, fold.go, stem.go). Texts and queries are cut into
// terms in the same way: the case is split before it is lowered (readFile is
// read, file; getURLs is get, urls; OAuth stays oauth), accents are folded,
// scripts without spaces become overlapping pairs of characters, stop words
// are dropped, and the inflection is stripped. The query becomes
//
//	schedul  task
//
// 2. Weighing (build.go). While the index is built, every (term, document)
// pair gets one number, what the document earns if the query has the term. It
// is Okapi BM25 over weighted fields (BM25F). Description words after the first
// sentence or so count a quarter, since caveats follow what a tool does:
//
//	tf    = Σ over fields  weight · occurrences / (1 - b + b · length/average)
//	score = idf · tf · (k1 + 1) / (tf + k1)
//	idf   = ln(1 + (N - n + 0.5) / (n + 0.5))      N documents, n have the term
//
// so a rare term earns more than a common one, a name more than a description,
// a short field more than a long one, and the tenth repetition nearly nothing.
// A name earns a little extra for the share of it that is matched: for "list
// files", list_files before list_files_of_project. Here:
//
//	           schedul   task
//	cron_add     0.94     0.45
//	task_list     -       0.90
//
// 3. Adding up (plan.go, search.go). The numbers of the query's terms are
// summed per document: cron_add 1.38, task_list 0.90, and web_search does not
// occur. A request of several clauses is also scored clause by clause, and part
// of a document's score is its best clause's, so that a tool for one clause of
// three is not lost. An owner that the query names lifts its documents.
//
// The numbers are integers in a fixed unit. Sums of integers do not depend on
// their order or on the machine, so an answer is the same to the byte anywhere.
//
// 4. Adding words (lexicon.go, repair.go, data/). A typed word brings others
// along, at a discount: words derived from it (translation, translate),
// abbreviations and words for the same thing (repo, repository; remove,
// delete), two words written as one (web hook, webhook), a repair if nothing
// in the catalog answers it (scheduel), and what such a request is usually
// called (look up the price: search the web).
//
// 5. Ordering. The first difference decides:
//
//	the query is its name or id  ›  it matches a typed word  ›  score  ›  id
//
// The second step is what keeps additions in their place. A document that
// matches only what was added stays below every document that matches a word
// that was typed, however well it scores: "weather" may bring web search along,
// but never above get_weather. Among documents that match typed words, an
// addition is part of the score, at its discount and never more than the typed
// part.
//
// 6. Doubt (weak.go). A hit that answers too little of the query is marked
// weak: for "list the planets of the solar system" every list_… tool is.
//
// # The index
//
// Inverted and flat: for each term the documents that have it, their numbers
// and the fields, in three parallel slices without pointers. A query touches
// the postings of its terms and nothing else. It allocates its answer; all
// other memory is reused.
//
// # Room for a second arm
//
// A ranker of another kind, such as vectors, would add a score per document
// before selectTop and leave the tiers as they are. Scores can be added; ranks
// of two lists, fused, would break the order above.
package rank
