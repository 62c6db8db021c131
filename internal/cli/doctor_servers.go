package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/source/mcp"
)

func checkServer(st mcp.Status, cfg config.Server) check {
	c := check{Name: "server " + st.Name, server: true, OK: st.State == mcp.Ready || st.State == mcp.Disabled}
	switch st.State {
	case mcp.Ready:
		c.Detail = fmt.Sprintf("%d tools, protocol %s, up since %s", st.Tools, st.Protocol, st.Since.Format(time.TimeOnly))
	case mcp.Disabled:
		c.Detail = "disabled in the configuration"
	default:
		c.Detail, c.Hint, c.Stderr = fmt.Sprintf("%s: %s", st.State, st.LastError), serverHint(st, cfg), st.Stderr
	}
	return c
}

// serverHint says what to do about a server that is down, "" where its error
// says so already.
func serverHint(st mcp.Status, cfg config.Server) string {
	remote := cfg.Transport != config.Stdio
	switch st.Failure {
	case mcp.FailureConfig:
		return ""
	case mcp.FailureNoProgram:
		return "install the program, or correct its command; one outside of PATH needs its whole path"
	case mcp.FailureNoFolder:
		return "make the folder, or correct its cwd"
	case mcp.FailureRefused:
		return "nothing listens there: start the server, or correct its url"
	case mcp.FailureSlow:
		switch {
		case remote:
			return "check its url, or raise its startTimeoutMs"
		case cfg.Downloads():
			return "still downloading? run its command once by hand, or raise its startTimeoutMs"
		}
		return "run its command by hand to see what it waits for, or raise its startTimeoutMs"
	}
	switch {
	case remote:
		return "check its url and headers"
	case strings.Contains(st.Stderr, "_npx") && strings.Contains(st.Stderr, "MODULE_NOT_FOUND"):
		// These are npm's own words: a download that was interrupted stays broken.
		return "a download of npx was interrupted: delete the folder _npx of npm's cache, which is ~/.npm/_npx, and try again"
	}
	return "run its command by hand, and check its path and variables"
}
