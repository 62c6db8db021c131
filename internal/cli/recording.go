package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/toolsearch/toolsearch/approval"
	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/server"
	"github.com/toolsearch/toolsearch/internal/store"
	"github.com/toolsearch/toolsearch/pin"
	"github.com/toolsearch/toolsearch/policy"
	"github.com/toolsearch/toolsearch/source/plugin"
	"github.com/toolsearch/toolsearch/transcript"
)

// recordingOptions say what a recording is made of.
type recordingOptions struct {
	config  *config.Config
	policy  *policy.Policy
	plugins *plugin.Source
	serve   bool // whether an MCP client asks
}

// recording is what stands around calls: the transcript, the approvals and the
// pins, which need the store, and the hooks.
type recording struct {
	store      *store.Store
	redactor   *transcript.Redactor
	transcript *transcript.Transcript
	gate       *approval.Gate
	pins       *pin.Pinner
	hooks      *hook.Set           // nil when none is configured
	elicit     *server.Elicitation // nil outside of an MCP server
	warnings   []policy.Warning
	close      func()
}

// openRecording opens the store. Calls need it: without it none is made.
func (a *app) openRecording(ctx context.Context, opt recordingOptions) (*recording, error) {
	// Before the store: a hook that cannot run is the configuration's fault.
	hooks, err := resolveHooks(opt.config.Tools.Hooks)
	if err != nil {
		return nil, err
	}
	ofPlugins, err := opt.plugins.ReadyHooks()
	if err != nil {
		return nil, err
	}
	hooks = append(hooks, ofPlugins...)
	secrets := append(opt.config.Secrets(os.LookupEnv), opt.plugins.Secrets()...)
	kept := opt.config.Tools.Transcript
	s, closeStore, err := a.openStoreWith(ctx, store.Options{MaxAge: kept.MaxAge, MaxBytes: kept.MaxBytes})
	if err != nil {
		return nil, err
	}
	redactor := transcript.NewRedactor(transcript.RedactorConfig{Fields: kept.Redact, Secrets: secrets})
	r, err := a.newRecording(s, redactor, opt)
	if err == nil {
		err = r.setHooks(hooks)
	}
	if err != nil {
		closeStore()
		return nil, err
	}
	r.close = func() {
		if r.hooks != nil {
			if err := r.hooks.Close(); err != nil {
				fmt.Fprintf(a.std.err, "warning: close the hooks: %v\n", err)
			}
		}
		if r.elicit != nil {
			r.elicit.Close()
		}
		closeStore()
	}
	return r, nil
}

func (a *app) newRecording(s *store.Store, redactor *transcript.Redactor, opt recordingOptions) (*recording, error) {
	r := &recording{store: s, redactor: redactor}
	var err error
	if r.transcript, err = transcript.New(transcript.Config{Recorder: s, Counter: s, Redactor: redactor, MaxBody: opt.config.Tools.Transcript.MaxBody}); err != nil {
		return nil, err
	}
	rules, warnings, err := approval.Compile(approvalRules(opt.config.Tools.Approvals))
	if err != nil {
		return nil, err
	}
	r.warnings = append(r.warnings, warnings...)
	if r.pins, err = a.newPinner(s, opt.config.Tools.Pins); err != nil {
		return nil, err
	}
	if opt.serve {
		key, err := approvalKey(s)
		if err != nil {
			return nil, err
		}
		if r.elicit, err = server.NewElicitation(key); err != nil {
			return nil, err
		}
	}
	r.gate, err = a.newGate(s.Approvals(), gateOptions{
		rules: rules, policyVersion: opt.policy.Fingerprint(), elicit: r.elicit, redactor: redactor,
		expiry: opt.config.Tools.Approvals.Expiry, wait: opt.config.Tools.Approvals.Wait,
	})
	return r, err
}

// newPinner makes what holds tools to their definitions.
func (a *app) newPinner(s *store.Store, mode pin.Mode) (*pin.Pinner, error) {
	return pin.New(pin.Config{Store: s.Pins(), Mode: mode, OnChange: a.definitionChanged(mode), OnRename: a.toolRenamed})
}

// openHolding opens the pins alone, for who shows tools and calls none: the new
// words of a changed tool are for no model that runs the command either.
func (a *app) openHolding(ctx context.Context, mode pin.Mode) (*recording, error) {
	s, closeStore, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	pins, err := a.newPinner(s, mode)
	if err != nil {
		closeStore()
		return nil, err
	}
	return &recording{store: s, pins: pins, close: closeStore}, nil
}

// definitionChanged tells of a changed definition what becomes of the tool.
func (a *app) definitionChanged(mode pin.Mode) func(pin.Change) {
	return func(c pin.Change) {
		id, what := oneLine(string(c.ID), 300), "it is blocked until the change is accepted"
		if mode == pin.Warn {
			what = "it is called all the same"
		}
		fmt.Fprintf(a.std.err, "warning: the definition of %s has changed; %s: see 'toolsearch pins diff %s'\n", id, what, id)
	}
}

// approvalRules are the configuration's rules, for the gate.
func approvalRules(c config.Approvals) approval.RuleSet {
	set := approval.RuleSet{Core: c.Core, Otherwise: c.Otherwise}
	for i, r := range c.Rules {
		set.Rules = append(set.Rules, approval.Rule{
			Action: r.Action, Tools: config.Entries(r.Tools), Claims: r.Claims, Name: approvalRuleName(i),
		})
	}
	return set
}

// setHooks makes the hooks, which ask for approval through the gate.
func (r *recording) setHooks(hooks []hook.Hook) error {
	if len(hooks) == 0 {
		return nil
	}
	set, warnings, err := hook.New(hooks, hook.AskerFunc(r.gate.AskFor))
	r.hooks, r.warnings = set, append(r.warnings, warnings...)
	return err
}

// resolveHooks fills in the variables of the hooks and makes what they run. A
// hook that cannot be made is an error: calls do not go on without it.
func resolveHooks(configured []config.Hook) (hooks []hook.Hook, err error) {
	for _, c := range configured {
		v, err := c.Resolve(os.LookupEnv)
		if err != nil {
			return nil, err
		}
		h := hook.Hook{Name: c.Name, Event: c.Event, Tools: config.Entries(c.Tools), Timeout: c.Timeout}
		if v.URL != "" {
			header := http.Header{}
			for _, x := range v.Headers {
				header.Set(x.Name, x.Value)
			}
			h.Runner, err = hook.HTTP(hook.HTTPConfig{URL: v.URL, Header: header})
		} else {
			var env []string
			for _, x := range v.Env {
				env = append(env, x.Name+"="+x.Value)
			}
			h.Runner, err = hook.Command(hook.CommandConfig{Command: v.Command, Dir: v.Dir, Env: env})
		}
		if err != nil {
			return nil, hintError{
				fmt.Errorf("%s: hook %q: %w", c.Pos, c.Name, err),
				"mend the hook under tools.hooks; no call is made without it",
			}
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}
