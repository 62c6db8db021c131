// Package guest holds the code that runs in the guest's realm, whatever the
// engine.
package guest

import _ "embed"

// Prelude is one JavaScript function expression: it takes the host's functions
// and returns {start, deliver, idle}.
//
//go:embed prelude.js
var Prelude string
