package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/source/plugin"
)

// checkHooks makes each hook as a call would: without one of them no call is made.
func checkHooks(hooks []config.Hook) []check {
	var faulty []check
	for i := range hooks {
		if _, err := resolveHooks(hooks[i : i+1]); err != nil {
			faulty = append(faulty, check{Name: "hook " + hooks[i].Name, Detail: err.Error(), Hint: hintOf(err, "mend the hook under tools.hooks; no call is made without it")})
		}
	}
	switch {
	case len(hooks) == 0:
		return nil
	case len(faulty) == 0:
		return []check{{Name: "hooks", OK: true, Detail: fmt.Sprintf("%d can be asked", len(hooks))}}
	}
	return faulty
}

// checkPlugins reads each manifest, makes the hooks of the plugins, and starts
// their processes.
func checkPlugins(ctx context.Context, app *app) []check {
	const mend = "mend it, or remove it with 'toolsearch plugins remove'; no call is made without its hooks"
	root, err := plugin.DefaultRoot()
	if err != nil {
		return []check{{Name: "plugins", Detail: err.Error()}}
	}
	plugins, problems := plugin.Installed(ctx, root)
	var checks []check
	for _, p := range problems {
		checks = append(checks, check{Name: "plugin " + filepath.Base(p.Dir), Detail: p.Error(), Hint: mend})
	}
	opened, err := plugin.Open(plugins, plugin.Options{Logger: app.logger(), ClientName: "toolsearch", ClientVersion: version})
	var processes []check
	if err == nil {
		_, err = opened.ReadyHooks()
		processes = checkProcesses(opened.Probe(ctx))
		err = errors.Join(err, opened.Close())
	}
	switch {
	case err != nil:
		checks = append(checks, check{Name: "plugins", Detail: err.Error(), Hint: mend})
	case len(plugins) > 0:
		checks = append(checks, check{Name: "plugins", OK: true, Detail: fmt.Sprintf("%d installed", len(plugins))})
	}
	return append(checks, processes...)
}

// checkProcesses tells of the plugins whose tools cannot be called.
func checkProcesses(all []plugin.Status) (faulty []check) {
	for _, st := range all {
		c := check{Name: "plugin " + st.Plugin, server: true}
		switch {
		case st.State == plugin.Failed:
			c.Detail, c.Hint = st.LastError, "mend its start block, or run its command by hand in its folder; 'toolsearch plugins list --json' names both"
		case len(st.Missing) > 0:
			c.Detail = "its process does not offer what its manifest declares: " + strings.Join(st.Missing, ", ")
			c.Hint = "have the process list these tools, or take them out of plugin.json5, and install it with 'toolsearch plugins add --replace'"
		default:
			continue
		}
		faulty = append(faulty, c)
	}
	return faulty
}

// checkPins counts the changed definitions that a person has to look at, once
// the servers were compared with their pins. They are no fault of the setup.
func checkPins(ctx context.Context, set *toolset) []check {
	if set.store == nil {
		return nil // pins are off, or the store was found faulty
	}
	pins, err := set.store.Pins().List(ctx, "")
	if err != nil {
		err = storeError(err)
		return []check{{Name: "pins", Detail: err.Error(), Hint: hintOf(err, "")}}
	}
	waiting := 0
	for _, p := range pins {
		if p.Waiting() {
			waiting++
		}
	}
	c := check{Name: "pins", OK: true, Detail: fmt.Sprintf("%d tools are pinned, no change waits", len(pins))}
	if waiting > 0 {
		c.Detail = fmt.Sprintf("%d changed tools wait", waiting)
		if waiting == 1 {
			c.Detail = "1 changed tool waits"
		}
		c.Hint = "'toolsearch pins diff' shows what the servers changed; 'toolsearch pins accept ID' allows it"
	}
	return []check{c}
}

// hintOf is the hint of an error, or otherwise.
func hintOf(err error, otherwise string) string {
	if hint := (hintError{}); errors.As(err, &hint) {
		return hint.hint
	}
	return otherwise
}
