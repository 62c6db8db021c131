// Package store keeps what the program must remember, in one SQLite file in
// the user's state folder: sessions, runs and calls (the transcript), approvals
// and pins. Several processes may use the same folder at once.
//
// # What is never lost
//
// Two kinds of writes, two promises:
//
//   - Transcript records come by the thousand. Each is appended by one write(2)
//     to a journal file of this process and acknowledged; a writer goroutine
//     carries them into SQLite in batches (after 50 ms or 1,000 records, whatever
//     comes first). An acknowledged record survives the end of the process, however it
//     comes: whoever opens the folder next applies the journals that nobody
//     holds, each record exactly once. A loss of power may lose the records of
//     the last seconds: there is no fsync per record, which would cost
//     milliseconds a call.
//   - Approvals and pins are rare and decide what may happen. Each change is one
//     SQLite transaction with synchronous=FULL: it survives a loss of power.
//
// # When it cannot write
//
// It fails closed: a full disk, a folder that is read only, a damaged database
// or one of a newer program give an *Error with what to do, and nothing is
// acknowledged. A write that failed is tried again when there is room.
package store
