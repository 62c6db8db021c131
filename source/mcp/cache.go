package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The last known list of a server is a file of its own: a line of JSON with the
// format's version, the number of definitions and the SHA-256 of what follows;
// then each definition as its length in decimal, a newline, its bytes, and a
// newline. So the bytes come back exactly as the server sent them, and a file
// that was cut or changed is noticed.

const (
	cacheVersion = 1
	maxCacheHead = 4 << 10
)

// cache keeps lists in a folder; without a folder it keeps nothing.
type cache struct {
	dir   string
	limit int // bytes of the definitions of one server
}

type cacheHead struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Count   int    `json:"count"`
	SHA256  string `json:"sha256"`
}

// path depends on all that makes a server another one, except its secrets.
func (c *cache) path(cfg *Server) string {
	h := sha256.New()
	for _, part := range append([]string{cfg.Name, cfg.Command, cfg.URL, cfg.Dir}, cfg.Args...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return filepath.Join(c.dir, cacheName(cfg.Name)+hex.EncodeToString(h.Sum(nil)[:8])+cacheSuffix)
}

const cacheSuffix = ".tools"

// cacheName is how the names of a server's files begin.
func cacheName(server string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, server)
	return safe[:min(len(safe), 40)] + "-"
}

// ForgetLists deletes from Options.CacheDir what servers of a name were known to
// offer. A Manager that runs keeps what it shows.
func ForgetLists(dir, server string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget the known tools of %q: %w", server, err)
	}
	var errs []error
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), cacheName(server)) || !strings.HasSuffix(f.Name(), cacheSuffix) {
			continue // by the name alone: at worst another server's list is read anew
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget the known tools of %q: %w", server, err))
		}
	}
	return errors.Join(errs...)
}

// save replaces the file in one step. It is for the owner's eyes only.
func (c *cache) save(cfg *Server, defs []json.RawMessage) error {
	if c.dir == "" {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of known tools: %w", err)
	}
	tmp, err := os.CreateTemp(c.dir, ".tools-*") // mode 0600
	if err != nil {
		return fmt.Errorf("keep the tools of %q: %w", cfg.Name, err)
	}
	_, err = tmp.Write(encodeCache(cfg.Name, defs))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), c.path(cfg))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("keep the tools of %q: %w", cfg.Name, err)
	}
	return nil
}

// load returns the last known definitions, none when there is no file.
func (c *cache) load(cfg *Server) ([]json.RawMessage, error) {
	if c.dir == "" {
		return nil, nil
	}
	path := c.path(cfg)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the known tools of %q: %w", cfg.Name, err)
	}
	defer func() { _ = f.Close() }() // only read
	limit := maxCacheHead + c.limit + c.limit/8
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("the file is larger than %d bytes", limit)
	}
	var defs []json.RawMessage
	if err == nil {
		defs, err = decodeCache(cfg.Name, data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the known tools of %q from %s: %w", cfg.Name, path, err)
	}
	return defs, nil
}

func encodeCache(name string, defs []json.RawMessage) []byte {
	var body bytes.Buffer
	for _, def := range defs {
		fmt.Fprintf(&body, "%d\n%s\n", len(def), def)
	}
	sum := sha256.Sum256(body.Bytes())
	head, _ := json.Marshal(cacheHead{cacheVersion, name, len(defs), hex.EncodeToString(sum[:])}) // strings and numbers always marshal
	return append(append(head, '\n'), body.Bytes()...)
}

func decodeCache(name string, data []byte) ([]json.RawMessage, error) {
	line, body, ok := bytes.Cut(data, []byte("\n"))
	var head cacheHead
	if !ok || len(line) > maxCacheHead || json.Unmarshal(line, &head) != nil {
		return nil, errors.New("its first line is malformed")
	}
	if head.Version != cacheVersion || head.Server != name {
		return nil, fmt.Errorf("it is of version %d for server %q", head.Version, head.Server)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != head.SHA256 {
		return nil, errors.New("its checksum does not fit: it was cut or changed")
	}
	var defs []json.RawMessage
	for len(body) > 0 {
		size, rest, ok := bytes.Cut(body, []byte("\n"))
		n, err := strconv.Atoi(string(size))
		if !ok || err != nil || n < 0 || n >= len(rest) || rest[n] != '\n' {
			return nil, fmt.Errorf("entry %d is malformed", len(defs)+1)
		}
		defs = append(defs, json.RawMessage(rest[:n:n]))
		body = rest[n+1:]
	}
	if len(defs) != head.Count {
		return nil, fmt.Errorf("it holds %d tools instead of %d", len(defs), head.Count)
	}
	return defs, nil
}
