package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

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

// checkPlugins reads each manifest, and makes the hooks of the plugins.
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
	if err == nil {
		if _, err = opened.ReadyHooks(); err == nil {
			err = opened.Close()
		} else {
			err = errors.Join(err, opened.Close())
		}
	}
	switch {
	case err != nil:
		checks = append(checks, check{Name: "plugins", Detail: err.Error(), Hint: mend})
	case len(plugins) > 0:
		checks = append(checks, check{Name: "plugins", OK: true, Detail: fmt.Sprintf("%d installed", len(plugins))})
	}
	return checks
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
