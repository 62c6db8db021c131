//go:build !amd64 && !arm64

package lockdown

// No architecture: the filter kills at the first call, so no child is ever
// ready and there is no code mode.
const (
	auditArch        = 0
	firstForeignCall = 0
)

var programCalls []uintptr
