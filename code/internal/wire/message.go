package wire

import "encoding/json"

// Config travels in the child's argument list, as JSON. It holds no secret:
// argument lists can be read by other processes.
type Config struct {
	Runtime     string `json:"runtime"` // "embedded" or "node"
	Node        string `json:"node,omitempty"`
	Parent      int    `json:"parent"`          // the runner's process id
	CPUSeconds  uint64 `json:"cpu"`             // CPU time after which the kernel kills
	MemoryBytes uint64 `json:"memory"`          // what the guest's heap may hold
	Kill        bool   `json:"kill"`            // a forbidden system call kills instead of failing
	Probe       string `json:"probe,omitempty"` // tests only: what to try instead of serving
}

// Layer is one part of the confinement.
type Layer struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
	Why  string `json:"why,omitempty"`
}

// ReadyMessage says that the child is locked down and waits for its run.
type ReadyMessage struct {
	Protocol int     `json:"protocol"`
	Engine   string  `json:"engine"`
	Layers   []Layer `json:"layers"`
}

// RunMessage is the one thing a child is asked to do.
type RunMessage struct {
	Code        string `json:"code"`
	LogBytes    int    `json:"logBytes"`
	ResultBytes int    `json:"resultBytes"`
	ArgsBytes   int    `json:"argsBytes"`
	InFlight    int    `json:"inFlight"`
	Calls       int    `json:"calls"`
}

// FaultMessage makes a request throw in the body.
type FaultMessage struct {
	Message string          `json:"message"`
	Code    string          `json:"code,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// LogMessage is one console line. Cut says that this is the last that fits.
type LogMessage struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"`
}

// ResultMessage is the returned value. When it was too long, Value is a string:
// the beginning of its JSON text, and Bytes is that text's whole length.
type ResultMessage struct {
	Value json.RawMessage `json:"value"`
	Bytes int64           `json:"bytes,omitempty"`
}

// FailureMessage is what the body threw, or why it could not run. Line and
// Column count from 1 in the text that was sent; 0 means unknown.
type FailureMessage struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
	Code    string `json:"code,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Syntax  bool   `json:"syntax,omitempty"`
	Dead    bool   `json:"dead,omitempty"` // the body waits for what nothing can settle
}
