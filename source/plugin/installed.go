package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// MaxInstalled bounds the plugins in one folder.
const MaxInstalled = 256

// Problem is an installed folder that cannot be used, and why.
type Problem struct {
	Dir string
	Err error
}

// Error returns the reason, which names the folder or the manifest.
func (p Problem) Error() string { return p.Err.Error() }

// Unwrap returns the reason.
func (p Problem) Unwrap() error { return p.Err }

// DefaultRoot is the folder of the user's installed plugins: toolsearch/plugins
// in $XDG_DATA_HOME when that is an absolute path, and else in ~/.local/share,
// on macOS in ~/Library/Application Support, on Windows in %LocalAppData%.
func DefaultRoot() (string, error) {
	base, err := dataHome()
	if err != nil {
		return "", fmt.Errorf("find the folder of installed plugins: %w; set XDG_DATA_HOME", err)
	}
	return filepath.Join(base, "toolsearch", "plugins"), nil
}

func dataHome() (string, error) {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) { // a relative one is to be ignored
		return base, nil
	}
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // %LocalAppData%
	case "darwin":
		return os.UserConfigDir()
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share"), err
}

// Installed loads every plugin in root, sorted by id. A folder that is no valid
// plugin becomes a Problem and harms no other. No folder at root means that
// nothing is installed.
func Installed(ctx context.Context, root string) ([]*Plugin, []Problem) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{root, fmt.Errorf("list the installed plugins: %w", err)}}
	}
	var plugins []*Plugin
	var problems []Problem
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // being added or removed, or the system's
		}
		if err := ctx.Err(); err != nil {
			return plugins, append(problems, Problem{root, err})
		}
		dir := filepath.Join(root, e.Name())
		if len(plugins) == MaxInstalled {
			return plugins, append(problems, Problem{root, fmt.Errorf("%s and what follows is left out: more than %d plugins are installed", dir, MaxInstalled)})
		}
		p, err := installed(ctx, dir, e)
		if err != nil {
			problems = append(problems, Problem{dir, err})
			continue
		}
		plugins = append(plugins, p)
	}
	return plugins, problems
}

func installed(ctx context.Context, dir string, e fs.DirEntry) (*Plugin, error) {
	if !e.IsDir() { // a link is none either
		return nil, fmt.Errorf("%s is no folder; remove it, and install plugins with 'toolsearch plugins add'", dir)
	}
	p, err := Load(ctx, dir)
	if err != nil {
		return nil, err
	}
	if p.ID != e.Name() {
		return nil, fmt.Errorf("the folder %s holds the plugin %q; a plugin's folder bears its id", dir, p.ID)
	}
	return p, nil
}
