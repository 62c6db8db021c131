package server

import (
	"fmt"
	"sync"

	"github.com/toolsearch/toolsearch/tool"
)

// maxCalls bounds the calls of one user that go on at one time. In a session a
// call goes on when the request that brought it is cut off, as the protocol wants
// it: whoever counts requests does not see it any more.
const maxCalls = 512

// inFlight counts the calls of each user. It holds those alone that have any; the
// zero value is ready, and it is safe for concurrent use.
type inFlight struct {
	mu sync.Mutex
	of map[string]int
}

// enter is an error for the model when there is no room. Else leave must be called.
func (f *inFlight) enter(user string) *tool.Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[user] >= maxCalls {
		return &tool.Error{
			Code: tool.CodeLimitExhausted, Reason: fmt.Sprintf("the call was not made: %d calls of yours are going on already", maxCalls),
			Next: "Wait for some of them to end, or cancel them.",
		}
	}
	if f.of == nil {
		f.of = map[string]int{}
	}
	f.of[user]++
	return nil
}

func (f *inFlight) leave(user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[user]--; f.of[user] == 0 {
		delete(f.of, user)
	}
}
