package core_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/source/core"
)

// BenchmarkGrep compares grep with the plain way, every line of every file
// through the expression and no wall. "x-naive" is how many times faster it is.
func BenchmarkGrep(b *testing.B) {
	box := open(b, core.Options{})
	src := []byte(box.sourceText(b))
	for i := range 300 {
		box.put(b, fmt.Sprintf("d%d/f%d.go", i%20, i), string(src))
	}
	for _, p := range []string{"no such text", `func \w+NoSuch\(`, `(?i)nosuch`, `nosuch|never`} {
		b.Run(p, func(b *testing.B) {
			var ours, naive time.Duration
			for b.Loop() {
				start := time.Now()
				box.ok(b, "grep", args{"pattern": p})
				middle := time.Now()
				naiveGrep(b, box.dir, regexp.MustCompile(p))
				ours, naive = ours+middle.Sub(start), naive+time.Since(middle)
			}
			b.ReportMetric(float64(naive)/float64(ours), "x-naive")
			b.ReportMetric(float64(300*len(src)*b.N)/ours.Seconds()/1e6, "MB/s")
		})
	}
}

func naiveGrep(b *testing.B, dir string, re *regexp.Regexp) int {
	found := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if re.Match(sc.Bytes()) {
				found++
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// BenchmarkRead compares a window of a big file with reading all of it and
// splitting it into lines.
func BenchmarkRead(b *testing.B) {
	box := open(b, core.Options{})
	box.put(b, "big", strings.Repeat("a line of text in a big file\n", 500000))
	path := filepath.Join(box.dir, "big")
	var ours, naive time.Duration
	for b.Loop() {
		start := time.Now()
		box.ok(b, "read", args{"path": "big", "offset": 100000, "limit": 100})
		middle := time.Now()
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		_ = strings.Join(strings.Split(string(data), "\n")[99999:100099], "\n")
		ours, naive = ours+middle.Sub(start), naive+time.Since(middle)
	}
	b.ReportMetric(float64(naive)/float64(ours), "x-naive")
}
