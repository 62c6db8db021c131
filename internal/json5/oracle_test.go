package json5_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/internal/json5"
)

// oracleVersion is the reference implementation of JSON5 in JavaScript.
const oracleVersion = "json5@2.2.3"

// oracleScript answers a JSON array of texts with an array of verdicts. Values
// are written so that nothing is lost: numbers as their 64 bits, members in
// order.
const oracleScript = `
const JSON5 = require("json5");
const bits = x => { const b = Buffer.alloc(8); b.writeDoubleBE(Number.isNaN(x) ? NaN : x); return "n" + b.toString("hex"); };
const show = v => v === null ? "null" : typeof v === "number" ? bits(v) :
  typeof v === "string" ? "s" + Buffer.from(v).toString("hex") : typeof v === "boolean" ? String(v) :
  Array.isArray(v) ? "[" + v.map(show).join(",") + "]" :
  "{" + Object.keys(v).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(k => show(k) + ":" + show(v[k])).join(",") + "}";
console.warn = () => {};
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map(t => { try { return show(JSON5.parse(t)); } catch (e) { return "refused"; } })));
`

// oracle asks the npm package json5, or skips the test.
func oracle(t *testing.T, texts []string) []string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the comparison with %s needs node and npm: %v", oracleVersion, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	dir := filepath.Join(cache, "toolsearch-tests", strings.ReplaceAll(oracleVersion, "@", "-"))
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "json5", "package.json")); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", oracleVersion)
		if out, err := install.CombinedOutput(); err != nil {
			t.Skipf("npm cannot install %s here: %v\n%s", oracleVersion, err, out)
		}
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "-e", oracleScript)
	node.Dir, node.Stdin, node.Stderr = dir, bytes.NewReader(in), os.Stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("run the oracle: %v", err)
	}
	var verdicts []string
	if err := json.Unmarshal(out, &verdicts); err != nil || len(verdicts) != len(texts) {
		t.Fatalf("the oracle answered %d of %d: %v", len(verdicts), len(texts), err)
	}
	return verdicts
}

// verdict is what oracleScript prints, by our own reading.
func verdict(text string) string {
	d, err := json5.Parse([]byte(text))
	if err != nil {
		return "refused"
	}
	return show(d.Root)
}

func show(n *json5.Node) string {
	switch n.Kind {
	case json5.Number:
		return showFloat(n)
	case json5.String:
		return fmt.Sprintf("s%x", n.Str())
	case json5.Bool:
		return fmt.Sprint(n.Bool())
	case json5.Array:
		var parts []string
		for _, e := range n.Elems {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json5.Object:
		return showObject(n)
	}
	return "null"
}

func showFloat(n *json5.Node) string {
	f, _ := n.Float64() // a literal that is too large is infinite in JavaScript, as here
	bits := math.Float64bits(f)
	if math.IsNaN(f) {
		bits = 0x7ff8000000000000
	}
	return fmt.Sprintf("n%016x", bits)
}

func showObject(n *json5.Node) string {
	last := map[string]*json5.Node{}
	for _, m := range n.Members {
		last[m.Key] = m.Value
	}
	keys := make([]string, 0, len(last))
	for k := range last {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("s%x:%s", k, show(last[k]))
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func TestOracle(t *testing.T) {
	texts := append(oracleTable(), generated(3000)...)
	for i, want := range oracle(t, texts) {
		if got := verdict(texts[i]); got != want {
			t.Errorf("%q\n ours   %s\n oracle %s", texts[i], got, want)
		}
	}
}

func oracleTable() []string {
	texts := []string{"", " ", "//", "/**/", "null", "nul", "true false", "{", "}", "[", "{a}", "{a:}", "{a:1 b:2}", "{a:1;}", "[1 2]", "[,]", "[1,,]", "{,}", "[1,]", "{a:1,}",
		"{a:1,a:2}", "{__proto__:1}", "{'__proto__':{a:1}}", "{\"constructor\":1}", "{null:1,true:2,NaN:3,Infinity:4,if:5}", "{1:1}", "{a-b:1}", "{$:1,_:2}", "{é:1}", "{日本:1}", "{ℵ:1}", "{Ⅻ:1}",
		"{a\u0301:1}", "{\u0301a:1}", "{a٠:1}", "{a‿b:1}", "{a\u200cb\u200d:1}", "{\u200ca:1}", "{𝒳:1}", "{😀:1}", `{\u0061:1}`, `{\u0030:1}`, `{a\u0030:1}`, `{a\u002d:1}`, `{\u{61}:1}`, `{\x61:1}`, `{a\u00:1}`,
		"'a\u2028b'", "'a\nb'", "'a\rb'", "'\x00\x01\x7f'", "\"\t\"", `'\` + "\n" + `'`, `'\` + "\r\n" + `x'`, `'\` + "\r" + `x'`, `'\` + "\u2028" + `x'`, `'\q\a\z'`, `'\0'`, `'\00'`, `'\08'`, `'\1'`, `'\9'`, `'\x4'`, `'\xzz'`, `'\u004'`, `'\uD83D\uDE00'`, `'\uD83Dx'`, `'\uDE00'`, `'\'`, `"`, `'a"`, `"a'"`,
		"\uFEFF1", "1\uFEFF", "\u00A01", "\u16801", "\u180E1", "\u200B1", "\u2000\u2001\u200A\u202F\u205F\u30001", "\u00851", "\v\f1", "1 // a\u2028 2", "1 // a\r", "/* * / */ 1", "/* 1", "/ 1", "/*/1", "/**/1/**/", "1 //"}
	for _, n := range []string{"0", "00", "01", "08", "0.", ".0", ".", "..1", "1.", "1..", "1.2.3", "1e5", "1E+5", "1e-5", "1e", "1e+", ".5e1", "5.e1", ".e1", "0x", "0x1", "0XfF", "0xg", "0x1.5", "0x1e5", "0b1", "0o7", "1_000", "1n", "1a", "0a", "0e1", "00x1",
		"Infinity", "NaN", "Infinityx", "NaN1", "inf", "nan", "1e400", "1e-400", "9007199254740993", "123456789012345678901234567890", "0xffffffffffffffff", "0x" + strings.Repeat("f", 300), "5e-324", "2.2250738585072011e-308", "1" + strings.Repeat("0", 308)} {
		texts = append(texts, n, "+"+n, "-"+n, "--"+n, "+-"+n, "- "+n, "["+n+"]", "{a:"+n+"}", "["+n+"/**/]")
	}
	return texts
}

// generated returns texts from a grammar, half of them with one character
// changed, cut out or put in.
func generated(n int) []string {
	g := generator{rand.New(rand.NewPCG(5, 2024))}
	texts := make([]string, n)
	for i := range texts {
		text := []rune(g.space() + g.value(4) + g.space())
		if i%2 == 1 {
			at, with := g.IntN(len(text)), []rune(g.pick("{", "}", "[", "]", ",", ":", "'", `"`, "\\", "/", "*", "\n", "0", "x", "u", ".", "-", "e", " ", "\u2028", ""))
			text = append(text[:at:at], append(with, text[at+g.IntN(2):]...)...)
		}
		texts[i] = string(text)
	}
	return texts
}

type generator struct{ *rand.Rand }

func (g generator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g generator) space() string {
	return g.pick("", "", "", " ", "\n", "\t", "\r\n", "/* c */", "// c\n", "\u00A0", "\uFEFF", "/***/ ")
}

func (g generator) value(depth int) string {
	kind := g.IntN(6)
	if depth == 0 {
		kind = g.IntN(4)
	}
	switch kind {
	case 0:
		return g.pick("null", "true", "false", "NaN", "Infinity")
	case 1:
		return g.pick("", "-", "+") + g.pick("0", "1", "12.5", ".25", "3.", "1e3", "2E-2", "0x1F", "1.5e+3", "9007199254740993")
	case 2, 3:
		return g.str()
	}
	var b strings.Builder
	open, closing := "[", "]"
	if kind == 5 {
		open, closing = "{", "}"
	}
	b.WriteString(open)
	for i, n := 0, g.IntN(4); i < n; i++ {
		b.WriteString(g.space())
		if kind == 5 {
			b.WriteString(g.pick("a", "b", "$x", "_y1", "é", "'q'", `"r s"`, `\u0061b`, "__proto__") + g.space() + ":" + g.space())
		}
		b.WriteString(g.value(depth-1) + g.space())
		if i < n-1 || g.IntN(3) == 0 {
			b.WriteString(",")
		}
	}
	b.WriteString(g.space() + closing)
	return b.String()
}

func (g generator) str() string {
	quote := g.pick("'", `"`)
	var b strings.Builder
	b.WriteString(quote)
	for range g.IntN(5) {
		b.WriteString(g.pick("a", "é", "日", "😀", `\n`, `\x41`, `\u00e9`, `\'`, `\"`, "\\\n", `\0`, `\a`, `\uD83D\uDE00`, " ", "//", "\u2029"))
	}
	b.WriteString(quote)
	return b.String()
}
