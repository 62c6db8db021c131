// Package qa proves the whole program from end to end: a real gateway process
// for each way of showing tools, a plugin with fake tools, and a mock of a model
// API that keeps what it was sent. What the provider received and what the
// session logs say is compared, claim by claim.
package qa

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/toolsearch/toolsearch/provider/mock"
)

// Scenario is the name of the one scenario there is.
const Scenario = "tool-search-gateway-e2e"

// ProviderMode is the name of the one kind of provider there is.
const ProviderMode = "mock-openai"

// Lane is one way of showing tools.
type Lane string

// The lanes, in the order in which they run.
const (
	Direct    Lane = "direct"
	Code      Lane = "code"
	Tools     Lane = "tools"
	Directory Lane = "directory"
)

// Lanes lists them.
func Lanes() []Lane { return []Lane{Direct, Code, Tools, Directory} }

// Options make a run of the scenario.
type Options struct {
	Executable string // the program to prove
	Tools      int    // fake tools; default 36, at most MaxTools
	Dir        string // for what is made; removed by the caller
	// Model is the script of the mock; the zero value is mock.Agent(). Settings
	// changes the configuration of a lane; it may be nil. Tests break the program
	// with them.
	Model    mock.Script
	Settings func(Lane, *Settings)
	Logf     func(format string, args ...any) // progress; may be nil
}

// Bounds of Options.Tools.
const (
	DefaultTools = 36
	MaxTools     = 6000
	minTools     = 2
)

// laneTimeout bounds one lane: it starts a process that indexes the tools.
const laneTimeout = 60 * time.Second

// Report is the outcome.
type Report struct {
	Scenario string     `json:"scenario"`
	Provider string     `json:"provider"`
	Tools    int        `json:"tools"`
	Target   string     `json:"target"` // the id of the tool that is to be called
	OK       bool       `json:"ok"`
	Lanes    []Evidence `json:"lanes"`
	Checks   []Check    `json:"checks"`
}

// Run plays the scenario. An error means that it could not be played; what was
// proved or not is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Tools == 0 {
		o.Tools = DefaultTools
	}
	if o.Tools < minTools || o.Tools > MaxTools {
		return nil, fmt.Errorf("play %s: %d tools are not between %d and %d", Scenario, o.Tools, minTools, MaxTools)
	}
	if o.Model.Choose == nil && o.Model.Steps == nil {
		o.Model = mock.Agent()
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	var err error
	if o.Executable, err = filepath.Abs(o.Executable); err != nil {
		return nil, fmt.Errorf("play %s: %w", Scenario, err)
	}
	f := newFixture(o)
	if err := f.write(); err != nil {
		return nil, fmt.Errorf("play %s: make the plugin: %w", Scenario, err)
	}
	r := &Report{Scenario: Scenario, Provider: ProviderMode, Tools: o.Tools, Target: f.targetID()}
	for _, lane := range Lanes() {
		o.Logf("lane %s…", lane)
		e, err := f.play(ctx, lane)
		if err != nil {
			return nil, fmt.Errorf("play %s: lane %s: %w", Scenario, lane, err)
		}
		r.Lanes = append(r.Lanes, *e)
	}
	r.Checks = f.check(r.Lanes)
	r.OK = true
	for _, c := range r.Checks {
		r.OK = r.OK && c.OK
	}
	return r, nil
}

// play runs the request through one lane.
func (f *fixture) play(ctx context.Context, lane Lane) (_ *Evidence, err error) {
	ctx, cancel := context.WithTimeout(ctx, laneTimeout)
	defer cancel()
	model := mock.New(f.opt.Model)
	baseURL, stop, err := model.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	home := filepath.Join(f.opt.Dir, string(lane))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	settings := f.settings(lane, baseURL)
	if f.opt.Settings != nil {
		f.opt.Settings(lane, settings)
	}
	g, err := f.startGateway(ctx, home, settings)
	if err != nil {
		return nil, err
	}
	answer, err := g.ask(ctx, f.message())
	if err = errors.Join(err, g.stop(ctx)); err != nil {
		return nil, err
	}
	e := &Evidence{Lane: lane, Answer: answer}
	if err := e.readProvider(model.Requests()); err != nil {
		return nil, err
	}
	if err := e.readLog(ctx, filepath.Join(home, "state", "toolsearch")); err != nil {
		return nil, err
	}
	return e, nil
}
