package child

// Engine is one JavaScript realm with the bridge's prelude in it. Its methods
// are called from one goroutine.
type Engine interface {
	// Boot evaluates the prelude and hands it the host's functions.
	Boot(prelude string, host Host) error
	// Call calls one of the functions that the prelude returned and then runs
	// jobs until none is left. It reports the function's boolean answer.
	Call(function string, args ...any) (bool, error)
	// Idle asks the prelude whether the run is over.
	Idle() (bool, error)
}

// Host is what the prelude may ask of the process around it.
type Host interface {
	// Send writes a frame and returns its id.
	Send(typ int, payload string) (int, error)
	// Ask writes a request's frame, whose payload is a list of a string and,
	// unless that is empty, a JSON text. It returns the frame's id.
	Ask(typ int, first, rest string) (int, error)
	// Strip removes TypeScript types; the answer is JSON.
	Strip(source string) string
	// Locate maps a position in stripped code to the code as it was sent,
	// as "line:column".
	Locate(line, column int) string
}
