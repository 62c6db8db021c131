package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/tool"
)

// Bounds of a manifest.
const (
	maxManifest = 1 << 20 // bytes
	maxTools    = 1000
	maxHooks    = 32 // of one event
	maxArgs     = 256
	maxVars     = 128
	maxText     = 32 << 10 // bytes of a command, an argument or a variable
)

// manifest is the file as it is written.
type manifest struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Start       *startBlock `json:"start"`
	Tools       []toolBlock `json:"tools"`
	Hooks       hooksBlock  `json:"hooks"`
}

type startBlock struct {
	Command        string            `json:"command"`
	Args           []string          `json:"args"`
	Env            map[string]string `json:"env"`
	Cwd            string            `json:"cwd"`
	StartTimeoutMs *int64            `json:"startTimeoutMs"`
	CallTimeoutMs  *int64            `json:"callTimeoutMs"`
	IdleTimeoutMs  *int64            `json:"idleTimeoutMs"`
}

type toolBlock struct {
	Name         string           `json:"name"`
	Label        string           `json:"label"`
	Description  string           `json:"description"`
	Parameters   json.RawMessage  `json:"parameters"`
	OutputSchema json.RawMessage  `json:"outputSchema"`
	CatalogMode  string           `json:"catalogMode"`
	Sequential   bool             `json:"sequential"`
	Annotations  tool.Annotations `json:"annotations"`
}

type hooksBlock struct {
	Before []hookBlock `json:"before_tool_call"`
	After  []hookBlock `json:"after_tool_call"`
}

type hookBlock struct {
	Name      string            `json:"name"`
	Match     []string          `json:"match"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	TimeoutMs *int64            `json:"timeoutMs"`
}

// Load reads the plugin in a folder. A faulty manifest is an Errors that names
// file, line, column and key of each fault. It reads nothing but the manifest,
// never through a symbolic link that leaves the folder, and starts nothing.
func Load(ctx context.Context, dir string) (*Plugin, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("load the plugin: %w", err)
	}
	src, err := readManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("load the plugin in %s: %w", dir, err)
	}
	return parse(dir, src)
}

func readManifest(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only read
	f, err := root.OpenFile(ManifestName, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("read its manifest: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read its manifest: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read its manifest: %s is no regular file", ManifestName)
	}
	src, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read its manifest: %w", err)
	}
	if len(src) > maxManifest {
		return nil, fmt.Errorf("read its manifest: %s is larger than %d bytes", ManifestName, maxManifest)
	}
	return src, nil
}

// parse reads a manifest that stands in dir.
func parse(dir string, src []byte) (*Plugin, error) {
	file := filepath.Join(dir, ManifestName)
	doc, err := json5.Parse(src)
	if err != nil {
		return nil, faultsOf(file, err)
	}
	var m manifest
	if err := doc.Decode(&m); err != nil {
		return nil, faultsOf(file, err)
	}
	r := &reader{file: file, dir: dir, doc: doc}
	p := r.plugin(&m)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return p, nil
}
