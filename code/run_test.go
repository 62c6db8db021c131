package code_test

import (
	"testing"

	"github.com/toolsearch/toolsearch/code"
)

func TestRunReturnsTheValue(t *testing.T) {
	r := newRunner(t, code.Options{})
	report := run(t, r, `return (await openclaw.tools.call("a:b:c", {x: 1})).result.details.x + 1`, &host{})
	if !report.OK || string(report.Value) != "2" || report.CallsMade != 1 {
		t.Fatalf("got %+v, want the value 2 after one call", report)
	}
}
