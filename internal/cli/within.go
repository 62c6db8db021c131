package cli

import (
	"fmt"
	"os"

	"github.com/toolsearch/toolsearch/tool"
)

// byAPerson refuses what a person has to decide when a tool is what asks for it.
func byAPerson(what string) error {
	if os.Getenv(tool.WithinEnv) == "" {
		return nil
	}
	return hintError{
		&tool.Error{
			Code: tool.CodeBlocked, By: "approval",
			Reason: fmt.Sprintf("%s: a person has to do it, and this command runs inside of a tool (%s is set)", what, tool.WithinEnv),
		},
		"tell the user the command; they run it in a terminal of their own",
	}
}
