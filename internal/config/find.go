package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the name of the configuration file where it is looked for.
const FileName = "toolsearch.json5"

// EnvVar is the variable that names the configuration file.
const EnvVar = "TOOLSEARCH_CONFIG"

// FindOptions say where to look. Zero fields mean the process's own.
type FindOptions struct {
	Explicit string              // --config
	Getenv   func(string) string // os.Getenv
	Dir      string              // the current folder
	UserDir  string              // os.UserConfigDir
}

// Origin says why a file was chosen.
type Origin string

// The origins, in the order in which they are tried.
const (
	FromFlag    Origin = "--config"
	FromEnv     Origin = "$" + EnvVar
	FromDir     Origin = "current folder"
	FromUserDir Origin = "user's config folder"
	FromNowhere Origin = "no file: defaults"
)

// Location is where the configuration is, or would be.
type Location struct {
	// Path is absolute. From nowhere it is where a new file belongs.
	Path   string
	Origin Origin
	// Exists says whether there is a file. One that the flag or the variable
	// names may be missing: loading it is an error, and setting creates it.
	Exists bool
}

// LoadPath is what to give to Load: "" when there is no file at all.
func (l Location) LoadPath() string {
	if l.Origin == FromNowhere {
		return ""
	}
	return l.Path
}

// Find chooses the configuration file: the flag's, the variable's, the current
// folder's, the user's. The first that is given or exists wins; files are never
// merged. A file that is there and cannot be looked at is an error, not a
// reason to go on, and so is one in the current folder that is another user's:
// whoever can write into a folder would choose what is run by all who come there.
func Find(opt FindOptions) (Location, error) {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	if opt.Explicit != "" {
		return located(filepath.Join(opt.base(opt.Explicit), opt.Explicit), FromFlag)
	}
	if p := opt.Getenv(EnvVar); p != "" {
		return located(filepath.Join(opt.base(p), p), FromEnv)
	}
	here, err := located(filepath.Join(opt.base(FileName), FileName), FromDir)
	if err == nil && here.Exists {
		err = trusted(here.Path)
	}
	if err != nil || here.Exists {
		return here, err
	}
	if opt.UserDir == "" {
		if opt.UserDir, err = os.UserConfigDir(); err != nil { // no home: there is no such folder to look in
			here.Origin = FromNowhere
			return here, nil
		}
	}
	user, err := located(filepath.Join(opt.UserDir, "toolsearch", FileName), FromUserDir)
	if err == nil && !user.Exists {
		user.Origin = FromNowhere
	}
	return user, err
}

func trusted(path string) error {
	who, err := stranger(path)
	if err != nil {
		return fmt.Errorf("find the configuration (%s): %w", FromDir, err)
	}
	if who != "" {
		return fmt.Errorf("find the configuration (%s): %s belongs to %s, and it says which programs are run; name it with --config to use it all the same", FromDir, path, who)
	}
	return nil
}

// base is what a relative path is relative to.
func (o FindOptions) base(path string) string {
	if filepath.IsAbs(path) {
		return ""
	}
	return o.Dir
}

func located(path string, origin Origin) (Location, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Location{}, fmt.Errorf("find the configuration %s: %w", path, err)
	}
	l := Location{Path: abs, Origin: origin}
	switch _, err := os.Stat(abs); {
	case err == nil:
		l.Exists = true
	case !errors.Is(err, os.ErrNotExist):
		return Location{}, fmt.Errorf("find the configuration (%s): %w", origin, err)
	}
	return l, nil
}

// ShellQuote is a path as one word of a POSIX shell's command line, for messages
// that name a command.
func ShellQuote(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
