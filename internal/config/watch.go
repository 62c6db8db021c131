package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A burst of changes, as editors make, is over when nothing happens for
// debounce; a file that never rests is read every maxDebounce.
const (
	debounce    = 100 * time.Millisecond
	maxDebounce = time.Second
)

// Watch calls changed whenever the content of current's file changes, until ctx
// ends; it then returns nil. A good file arrives as the new configuration with
// a nil error. A file that is faulty or gone arrives as the error, together with
// the last good configuration, which stays in force; the same error is not
// repeated for the same content. A change between Load and Watch is not missed.
//
// Calls are made one after another from the goroutine that called Watch.
func Watch(ctx context.Context, current *Config, changed func(*Config, error)) error {
	if current.Path == "" {
		return errors.New("watch the configuration: there is no file to watch")
	}
	w, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		return fmt.Errorf("watch the configuration: %w", err)
	}
	defer w.Close()
	s := &watched{good: current, seen: current.digest, changed: changed}
	if err := s.follow(w); err != nil {
		return fmt.Errorf("watch the configuration: %w", err)
	}
	s.reload(ctx)
	return s.run(ctx, w)
}

type watched struct {
	good    *Config
	seen    [sha256.Size]byte // of the content that was last reported; zero: the file is gone
	changed func(*Config, error)
	folders map[string]bool
}

// follow watches the file's folder, and those of the links on the way to it:
// a watch on the file itself would end when an editor replaces it.
func (s *watched) follow(w *fsnotify.Watcher) error {
	if s.folders == nil {
		s.folders = map[string]bool{}
	}
	path := s.good.Path
	for range 16 { // links to links; more is a loop
		if dir := filepath.Dir(path); !s.folders[dir] {
			if err := w.Add(dir); err != nil {
				return err
			}
			s.folders[dir] = true
		}
		next, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	if real, err := filepath.EvalSymlinks(s.good.Path); err == nil && !s.folders[filepath.Dir(real)] {
		if err := w.Add(filepath.Dir(real)); err != nil {
			return err
		}
		s.folders[filepath.Dir(real)] = true
	}
	return nil
}

func (s *watched) run(ctx context.Context, w *fsnotify.Watcher) error {
	var due <-chan time.Time
	var latest time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-w.Events:
			if !open {
				return errors.New("watch the configuration: the system ended the watch")
			}
			now := time.Now()
			if due == nil {
				latest = now.Add(maxDebounce)
			}
			due = time.After(min(debounce, latest.Sub(now)))
		case err, open := <-w.Errors:
			if !open {
				return errors.New("watch the configuration: the system ended the watch")
			}
			// Events were lost: whatever they said, the content tells.
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch the configuration: %w", err)
			}
			due = time.After(debounce)
		case <-due:
			due = nil
			if err := s.follow(w); err != nil {
				return fmt.Errorf("watch the configuration: %w", err)
			}
			s.reload(ctx)
		}
	}
}

// reload reads the file and reports it if its content is new.
func (s *watched) reload(ctx context.Context) {
	src, err := readFile(ctx, s.good.Path)
	if ctx.Err() != nil {
		return
	}
	var digest [sha256.Size]byte
	if err == nil {
		digest = sha256.Sum256(src)
	}
	if digest == s.seen {
		return
	}
	s.seen = digest
	var next *Config
	if err == nil {
		next, err = Parse(s.good.Path, src)
	}
	if err != nil {
		s.changed(s.good, err)
		return
	}
	s.good = next
	s.changed(next, nil)
}
