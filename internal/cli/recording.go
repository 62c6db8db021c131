package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/mcp"
	"github.com/toolsearch/toolsearch/transcript"
)

// recording is what calls need of the store: the transcript, the approvals and
// the pins.
type recording struct {
	transcript *transcript.Transcript
	gate       *approval.Gate
	pins       *pin.Pinner
	elicit     *server.Elicitation // nil outside of an MCP server
	close      func()
}

// openRecording opens the store. Calls need it: without it none is made.
func (a *app) openRecording(ctx context.Context, pol *policy.Policy, servers []mcp.Server, serve bool) (*recording, error) {
	s, closeStore, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	r, err := a.newRecording(s, pol, servers, serve)
	if err != nil {
		closeStore()
		return nil, err
	}
	closeElicit := func() {
		if r.elicit != nil {
			r.elicit.Close()
		}
	}
	r.close = func() { closeElicit(); closeStore() }
	return r, nil
}

func (a *app) newRecording(s *store.Store, pol *policy.Policy, servers []mcp.Server, serve bool) (*recording, error) {
	r := &recording{}
	redactor := transcript.NewRedactor(transcript.RedactorConfig{Secrets: serverSecrets(servers)})
	var err error
	if r.transcript, err = transcript.New(transcript.Config{Recorder: s, Counter: s, Redactor: redactor}); err != nil {
		return nil, err
	}
	if serve {
		key, err := approvalKey(s)
		if err != nil {
			return nil, err
		}
		if r.elicit, err = server.NewElicitation(key); err != nil {
			return nil, err
		}
	}
	rules, _, err := approval.Compile(approval.RuleSet{})
	if err != nil {
		return nil, err
	}
	r.gate, err = a.newGate(approvalStore{s}, gateOptions{
		rules: rules, policyVersion: pol.Fingerprint(), elicit: r.elicit, redactor: redactor,
	})
	if err != nil {
		return nil, err
	}
	r.pins, err = pin.New(pin.Config{Store: pinStore{s}, Mode: pin.Block, OnChange: func(c pin.Change) {
		fmt.Fprintf(a.std.err, "warning: the definition of %s has changed; it is blocked until 'toolsearch pins accept %s'\n", c.ID, c.ID)
	}})
	return r, err
}

// serverSecrets are the values that no record may hold.
func serverSecrets(servers []mcp.Server) []string {
	var out []string
	for _, s := range servers {
		for _, v := range s.Headers {
			out = append(out, v)
		}
		for _, kv := range s.Env {
			if _, value, ok := strings.Cut(kv, "="); ok {
				out = append(out, value)
			}
		}
	}
	return out
}
