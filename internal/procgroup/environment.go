package procgroup

import (
	"os"
	"runtime"
	"strings"
)

// Environment is the part of our own environment that a command gets, as KEY=value:
// what a program needs to run at all, and nothing that may hold a secret.
func Environment() []string {
	var env []string
	for _, key := range inherited() {
		// A value that begins like this is an exported shell function.
		if v, ok := os.LookupEnv(key); ok && !strings.HasPrefix(v, "()") {
			env = append(env, key+"="+v)
		}
	}
	return env
}

func inherited() []string {
	if runtime.GOOS == "windows" {
		return []string{"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
			"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"}
	}
	return []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
}
