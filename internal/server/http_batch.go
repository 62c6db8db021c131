package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBatch bounds the messages of one request. Revisions before 2025-06-18 allow
// batches; each message in one is worked on at once, so that a long one would be
// thousands of calls which count as one request.
const maxBatch = 16

// unbatched passes on requests of one message, and of a batch that is short enough.
// It reads most bytes at most: what is longer is for the handler to refuse.
func unbatched(next http.Handler, most int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		limited := http.MaxBytesReader(w, r.Body, most)
		in := bufio.NewReader(limited)
		n, seen := countMessages(in)
		if n > maxBatch {
			w.Header().Set("Connection", "close") // the rest of it is not waited for
			http.Error(w, fmt.Sprintf("a batch has at most %d messages; send them in several requests", maxBatch), http.StatusBadRequest)
			return
		}
		body := struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(seen), in), limited}
		r = r.Clone(r.Context())
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// countMessages counts the messages of a batch, up to one more than it may have,
// and returns what it has read. What is no batch counts as one; what cannot be read
// is for the handler to refuse.
func countMessages(in *bufio.Reader) (n int, seen []byte) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 1, nil
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		if err := in.UnreadByte(); err != nil || c != '[' {
			return 1, nil
		}
		break
	}
	var kept bytes.Buffer
	d := json.NewDecoder(io.TeeReader(in, &kept))
	if _, err := d.Token(); err != nil {
		return 1, kept.Bytes()
	}
	for n <= maxBatch && d.More() {
		var message json.RawMessage
		if d.Decode(&message) != nil {
			break
		}
		n++
	}
	return n, kept.Bytes()
}
