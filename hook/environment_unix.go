//go:build unix

package hook

// passed names the variables that commands inherit.
func passed() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
}
