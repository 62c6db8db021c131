package provider

import "fmt"

// codeCut is the Code of ErrCut.
const codeCut = "stream_cut"

// ErrCut is what a StreamDecoder says of a stream that ended before the model had.
func ErrCut() *Error {
	return &Error{Type: "server_error", Code: codeCut,
		Message: "the stream was cut: it ended before the model said why it stopped; send the request again"}
}

// BrokenError tells that an answer broke off after a part of it had been handed
// on. The part cannot be taken back, so the request was not sent again.
type BrokenError struct{ Err error }

// Error says what is left, and what to do.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("the model's answer broke off after it had begun (%v): what came is only a part of it; leave it aside and ask again", e.Err)
}

// Unwrap returns what broke it off.
func (e *BrokenError) Unwrap() error { return e.Err }
