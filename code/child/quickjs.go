package child

import (
	"encoding/json"
	"errors"
	"fmt"

	"modernc.org/quickjs"
)

// maxDrain is the number of jobs after which the library's ExecutePendingJobs
// returns with an error although more are queued.
const maxDrain = 1 << 20

// embedded is the Engine that is compiled into the program.
type embedded struct {
	vm      *quickjs.VM
	start   quickjs.Value
	deliver quickjs.Value
	idle    quickjs.Value
	failed  error // a host function's failure, which no guest may swallow
}

// newEmbedded returns an engine whose heap holds at most memory bytes.
func newEmbedded(memory uint64) (*embedded, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	vm.SetMemoryLimit(uintptr(memory))
	vm.SetCanBlock(false)
	vm.SetModuleLoader(func(*quickjs.VM, string) (string, error) {
		return "", errors.New("import is not available here; use openclaw.tools to reach tools")
	}, nil)
	return &embedded{vm: vm}, nil
}

// Boot implements Engine.
func (e *embedded) Boot(prelude string, host Host) error {
	functions := []struct {
		name string
		fn   any
	}{
		{"send", func(typ int, payload string) int {
			id, err := host.Send(typ, payload)
			if err != nil {
				e.failed = err
			}
			return id
		}},
		{"ask", func(typ int, first, rest string) int {
			id, err := host.Ask(typ, first, rest)
			if err != nil {
				e.failed = err
			}
			return id
		}},
		{"compile", e.compile},
		{"make", func(source string) quickjs.Value {
			v, err := e.vm.EvalValue(source, quickjs.EvalGlobal)
			if err != nil {
				e.failed = fmt.Errorf("evaluate the wrapped code: %w", err)
				return quickjs.UndefinedValue
			}
			return v
		}},
		{"size", func(text string) int { return len(text) }},
		{"strip", host.Strip},
		{"locate", host.Locate},
	}
	object := "{__proto__: null"
	for _, f := range functions {
		if err := e.vm.RegisterFunc("$bridge_"+f.name, f.fn, false); err != nil {
			return fmt.Errorf("register %s: %w", f.name, err)
		}
		object += fmt.Sprintf(", %s: $bridge_%s", f.name, f.name)
	}
	api, err := e.vm.EvalValue(prelude+"("+object+"})", quickjs.EvalGlobal)
	if err != nil {
		return fmt.Errorf("evaluate prelude: %w", err)
	}
	defer api.Free()
	for name, v := range map[string]*quickjs.Value{"start": &e.start, "deliver": &e.deliver, "idle": &e.idle} {
		atom, err := e.vm.NewAtom(name)
		if err != nil {
			return fmt.Errorf("name %s: %w", name, err)
		}
		if *v, err = api.GetPropertyValue(atom); err != nil {
			return fmt.Errorf("read prelude's %s: %w", name, err)
		}
	}
	return nil
}

// compile answers "" for a script that parses, and the complaint as JSON for
// one that does not.
func (e *embedded) compile(source string) string {
	_, err := e.vm.Compile(source, quickjs.EvalGlobal)
	if err == nil {
		return ""
	}
	return complaint(err)
}

func complaint(err error) string {
	out := position{Message: err.Error(), Line: 1, Column: 1}
	if e, ok := errors.AsType[*quickjs.Error](err); ok {
		out = position{Message: e.Message, Line: e.LineNumber, Column: e.ColumnNumber}
	}
	raw, _ := json.Marshal(out) // a string and two integers always marshal
	return string(raw)
}

// position is a complaint about source text.
type position struct {
	Message string `json:"message"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

// Call implements Engine.
func (e *embedded) Call(function string, args ...any) (bool, error) {
	f := &e.start
	if function == "deliver" {
		f = &e.deliver
	}
	r, err := f.Call(quickjs.UndefinedValue, args...)
	if err == nil {
		err = e.drain()
	}
	if e.failed != nil {
		err = e.failed
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", function, err)
	}
	yes, _ := r.(bool)
	return yes, nil
}

// Idle implements Engine.
func (e *embedded) Idle() (bool, error) {
	r, err := e.idle.Call(quickjs.UndefinedValue)
	if e.failed != nil {
		err = e.failed
	}
	if err != nil {
		return false, fmt.Errorf("finish: %w", err)
	}
	yes, _ := r.(bool)
	return yes, nil
}

// drain runs jobs until none is left. A job that throws has settled its promise
// already; the error is not the bridge's concern.
func (e *embedded) drain() error {
	for {
		n, _ := e.vm.ExecutePendingJobs()
		if e.failed != nil {
			return e.failed
		}
		if n < maxDrain {
			return nil
		}
	}
}

// Name tells which engine this is.
func (e *embedded) Name() string { return "quickjs " + quickjs.Version() }
