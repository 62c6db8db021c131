package code

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nodeVersion is the first major version whose --permission also closes the
// network.
const nodeVersion = 25

// findNode returns the path of a node binary that is new enough.
func findNode(ctx context.Context, path string) (string, error) {
	if path == "" {
		path = "node"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("find node: %w; set the path of a node binary or use the embedded runtime", err)
	}
	if found, err = filepath.Abs(found); err == nil {
		found, err = filepath.EvalSymlinks(found)
	}
	if err != nil {
		return "", fmt.Errorf("find node at %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, "--version")
	cmd.Env = []string{}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", found, err)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: it answered %.40q", found, version)
	}
	if n < nodeVersion {
		return "", fmt.Errorf("node at %s has version %s: %d or later is needed; use a newer one or the embedded runtime: %w", found, version, nodeVersion, ErrNodeTooOld)
	}
	return found, nil
}

// ErrNodeTooOld says that the node binary cannot be confined.
var ErrNodeTooOld = errors.New("this node cannot close its network")
