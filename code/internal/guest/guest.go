// Package guest holds the code that runs in the guest's realm, whatever the
// engine.
package guest

import _ "embed"

// Prelude is one JavaScript function expression: it takes the host's functions
// and returns {start, deliver, idle}.
//
//go:embed prelude.js
var Prelude string

// Node is one JavaScript function expression, to be called with the prelude's
// text and the layers of confinement: the child's side of the protocol in node.
//
//go:embed node.js
var Node string
