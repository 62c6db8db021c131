package call_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/tool"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"

func limits(t testing.TB, chars int) call.Limits {
	t.Helper()
	l, err := call.CheckLimits(call.Limits{Chars: chars})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// shown counts what a model reads of a result.
func shown(res *tool.Result) int {
	n := 0
	for _, c := range res.Content {
		if c.Type == tool.TypeText {
			n += tool.Chars(c.Text())
		} else if c.Type != tool.TypeImage && c.Type != tool.TypeAudio {
			n += tool.Chars(string(c.Raw))
		}
	}
	return n
}

func TestCheckLimits(t *testing.T) {
	l, err := call.CheckLimits(call.Limits{})
	if err != nil || l.Chars != 20_000 || l.ImageBytes < 1 || l.AudioBytes < 1 || l.BlobBytes < 1 {
		t.Errorf("defaults: %+v, %v; want 20,000 characters and bounded bytes", l, err)
	}
	for _, bad := range []call.Limits{{Chars: -1}, {Chars: 999}, {Chars: 1_000_001}, {ImageBytes: -1}, {AudioBytes: 1 << 30}} {
		if _, err := call.CheckLimits(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestShapeLeavesSmallResultsAlone(t *testing.T) {
	res := &tool.Result{
		Content: []tool.Content{tool.Text(strings.Repeat("x", 1000)), tool.Binary(tool.TypeImage, "image/png", []byte(png))},
		Details: json.RawMessage(`{"a": 1}`),
	}
	got, cut := call.Shape(res, limits(t, 1000))
	if got != res || cut != nil {
		t.Errorf("a result within its budget came back as %+v with cut %+v; want itself", got, cut)
	}
}

func TestShapeCutsTextAtLines(t *testing.T) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("line %d is here", i))
	}
	full := strings.Join(lines, "\n")
	got, cut := call.Shape(tool.TextResult(full), limits(t, 2000))
	if cut == nil {
		t.Fatal("nothing was cut")
	}
	text := got.Content[0].Text()
	body, mark, _ := strings.Cut(text, "… (")
	if want := fmt.Sprintf("%d more characters)", len(full)-len(body)); mark != want {
		t.Errorf("the text ends in %q, want %q", mark, want)
	}
	if !strings.HasSuffix(body, " is here\n") || full[:cut.Next] != body {
		t.Errorf("what is shown is not the text up to Next=%d and the end of a line", cut.Next)
	}
	if cut.Full != full || cut.Total != len(full) {
		t.Errorf("the cut holds %d of %d characters", len(cut.Full), len(full))
	}
	if n := shown(got); n > 2000 || n < 1000 {
		t.Errorf("%d characters are shown of a budget of 2000", n)
	}
}

func TestShapeCutsJSONOnStructure(t *testing.T) {
	type row struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	var doc struct {
		Status string `json:"status"`
		Rows   []row  `json:"rows"`
		Next   string `json:"next"`
	}
	doc.Status, doc.Next = "ok", "cursor-1"
	for i := range 500 {
		doc.Rows = append(doc.Rows, row{i, "some name"})
	}
	res, err := tool.JSONResult(doc)
	if err != nil {
		t.Fatal(err)
	}
	got, cut := call.Shape(res, limits(t, 2000))
	if cut == nil {
		t.Fatal("nothing was cut")
	}
	for what, raw := range map[string]string{"text": got.Content[0].Text(), "details": string(got.Details)} {
		var cutDoc struct {
			Status string            `json:"status"`
			Rows   []json.RawMessage `json:"rows"`
			Next   string            `json:"next"`
		}
		if err := json.Unmarshal([]byte(raw), &cutDoc); err != nil {
			t.Fatalf("%s: %v in %s", what, err, raw)
		}
		if cutDoc.Status != "ok" || cutDoc.Next != "cursor-1" {
			t.Errorf("%s: small members went: %s", what, raw)
		}
		n := len(cutDoc.Rows) - 1
		for i, raw := range cutDoc.Rows[:n] {
			var got row
			if json.Unmarshal(raw, &got) != nil || got != doc.Rows[i] {
				t.Errorf("%s: element %d is %s", what, i, raw)
			}
		}
		if want := fmt.Sprintf(`"… %d more of 500 elements"`, 500-n); n < 10 || string(cutDoc.Rows[n]) != want {
			t.Errorf("%s: %d elements and then %s, want %s", what, n, cutDoc.Rows[n], want)
		}
	}
	if cut.Next != 0 || cut.Full != string(res.Details) {
		t.Errorf("the whole document must be read from its beginning; Next is %d", cut.Next)
	}
}

// Most servers answer with JSON in a text, which then stands in the text of an
// envelope: it is cut at its elements there too.
func TestShapeCutsDocumentsInStrings(t *testing.T) {
	var rows []string
	for i := range 900 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"path":"C:\\\\dir\\\\%d","say":"\"hi\""}`, i, i))
	}
	inner := "[" + strings.Join(rows, ",") + "]"
	outer, err := json.Marshal(map[string]string{"result": inner, "tool": "rows"})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1000, 2000, 20_000} {
		got, cut := call.Shape(tool.TextResult(string(outer)), limits(t, most))
		if cut == nil {
			t.Fatal("nothing was cut")
		}
		var doc struct{ Result, Tool string }
		var left []json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(got.Text()), &doc), json.Unmarshal([]byte(doc.Result), &left)); err != nil || doc.Tool != "rows" {
			t.Fatalf("%d: %v in %s", most, err, got.Text())
		}
		n := len(left) - 1
		for i, raw := range left[:n] {
			if string(raw) != rows[i] {
				t.Errorf("%d: element %d is %s", most, i, raw)
			}
		}
		if want := fmt.Sprintf(`"… %d more of 900 elements"`, 900-n); string(left[n]) != want {
			t.Errorf("%d: %d elements and then %s, want %s", most, n, left[n], want)
		}
		if used := shown(got); used > most || used < most*6/10 {
			t.Errorf("%d characters are shown of a budget of %d", used, most)
		}
	}
}

func TestShapeSharesTheBudget(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	res := &tool.Result{Content: []tool.Content{tool.Text(long), tool.Text("short and important"), tool.Text(long)}}
	got, cut := call.Shape(res, limits(t, 3000))
	if cut == nil || len(got.Content) != 3 || got.Content[1].Text() != "short and important" {
		t.Fatalf("the short block is not whole: %+v", got)
	}
	first, last := tool.Chars(got.Content[0].Text()), tool.Chars(got.Content[2].Text())
	if first < 1000 || last < 1000 || shown(got) > 3000-300 {
		t.Errorf("two equal blocks got %d and %d of 3000 less the note", first, last)
	}
}

func TestShapeKeepsRawInLine(t *testing.T) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 5000) + `"}],"_meta":{"k":1},"junk":"` + strings.Repeat("y", 9000) + `","isError":true}`)
	res, err := tool.ParseMCPResult(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := call.Shape(res, limits(t, 1000))
	if len(got.Raw) > 1500 || !strings.Contains(string(got.Raw), `"_meta":{"k":1}`) || !strings.Contains(string(got.Raw), `"isError":true`) {
		t.Errorf("the raw form is %d bytes: %.300s", len(got.Raw), got.Raw)
	}
	again, err := tool.ParseMCPResult(got.Raw)
	if err != nil || again.Text() != got.Text() {
		t.Errorf("the raw form says something else than the blocks: %v", err)
	}
}

func TestShapeMedia(t *testing.T) {
	block := func(raw string) tool.Content {
		var c tool.Content
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	big := make([]byte, call.DefaultMediaBytes+1)
	copy(big, png)
	wav := []byte("RIFF\x24\x00\x00\x00WAVEfmt ")
	tests := []struct {
		name  string
		block tool.Content
		note  string // "" when it passes
	}{
		{"png", tool.Binary(tool.TypeImage, "image/png", []byte(png)), ""},
		{"jpeg", tool.Binary(tool.TypeImage, "image/jpg", []byte("\xFF\xD8\xFF\xE0\x00\x10JFIF")), ""},
		{"gif", tool.Binary(tool.TypeImage, "image/gif", []byte("GIF89a\x01\x00")), ""},
		{"webp", tool.Binary(tool.TypeImage, "image/webp; x=y", []byte("RIFF\x24\x00\x00\x00WEBPVP8 ")), ""},
		{"wav", tool.Binary(tool.TypeAudio, "audio/x-wav", wav), ""},
		{"mp3", tool.Binary(tool.TypeAudio, "audio/mpeg", []byte("\xFF\xFB\x90\x64")), ""},
		{"largest", tool.Binary(tool.TypeImage, "image/png", big[:call.DefaultMediaBytes]), ""},
		{"png that says jpeg", tool.Binary(tool.TypeImage, "image/jpeg", []byte(png)), "is image/png"},
		{"html as image", tool.Binary(tool.TypeImage, "image/png", []byte("<html>ignore all")), "no image"},
		{"svg", tool.Binary(tool.TypeImage, "image/svg+xml", []byte("<svg/>")), "no image"},
		{"image as audio", tool.Binary(tool.TypeAudio, "audio/wav", []byte(png)), "no audio"},
		{"empty", tool.Binary(tool.TypeImage, "image/png", nil), "no image"},
		{"too large", tool.Binary(tool.TypeImage, "image/png", big), "at most"},
		{"no base64", block(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo*"}`), "base64"},
		{"half base64", block(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo"}`), "base64"},
		{"two data", block(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo=","Data":"PGh0bWw+"}`), "twice"},
		{"no data", block(`{"type":"image","mimeType":"image/png"}`), "no data"},
		{"smuggled text", block(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo=","alt":"` + strings.Repeat("x", 5000) + `"}`), "besides"},
		{"blob", block(`{"type":"resource","resource":{"uri":"f:x","mimeType":"application/zip","blob":"UEsDBA=="}}`), ""},
		{"blob image that lies", block(`{"type":"resource","resource":{"uri":"f:x","mimeType":"image/png","blob":"UEsDBA=="}}`), "no image"},
		{"resource without anything", block(`{"type":"resource","resource":7}`), "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := call.Shape(&tool.Result{Content: []tool.Content{tt.block}}, limits(t, 1000))
			if cut != nil {
				t.Errorf("text was cut: %+v", cut)
			}
			c := got.Content[0]
			if tt.note == "" {
				if string(c.Raw) != string(tt.block.Raw) {
					t.Errorf("it did not pass byte for byte: %.200s", c.Raw)
				}
				return
			}
			if c.Type != tool.TypeText || !strings.Contains(c.Text(), tt.note) {
				t.Errorf("got %s %.300s, want a note with %q", c.Type, c.Text(), tt.note)
			}
		})
	}
}

// What a text block holds besides its text is no way around the budget.
func TestShapeTextBlockWithMuchBesides(t *testing.T) {
	much := strings.Repeat("x", 30_000)
	for name, raw := range map[string]string{
		"a member of its own":     `{"type":"text","text":"short","note":"` + much + `"}`,
		"annotations":             `{"type":"text","text":"short","annotations":{"audience":["` + much + `"]}}`,
		"a name":                  `{"type":"text","text":"short","` + much + `":1}`,
		"many members":            `{"type":"text","text":"short"` + strings.Repeat(`,"n":"0123456789"`, 2000) + `}`,
		"a second text":           `{"type":"text","text":"` + much + `","text":"short"}`,
		"a text in other letters": `{"type":"text","Text":"` + much + `","text":"short"}`,
	} {
		got, _ := call.Shape(&tool.Result{Content: []tool.Content{{Type: tool.TypeText, Raw: json.RawMessage(raw)}}}, limits(t, 1000))
		if len(got.Content) != 1 || len(got.Content[0].Raw) > 2000 || got.Text() != "short" {
			t.Errorf("%s: %d bytes are left, with the text %.60q; want its text alone", name, len(got.Content[0].Raw), got.Text())
		}
	}
	// What is little passes byte for byte.
	res := &tool.Result{Content: []tool.Content{
		{Type: tool.TypeText, Raw: json.RawMessage(`{"type":"text","text":"a","annotations":{"priority":0.5},"_meta":{"k":"` + strings.Repeat("v", 900) + `"}}`)},
		tool.Binary(tool.TypeImage, "image/png", []byte(png)),
	}}
	if got, cut := call.Shape(res, limits(t, 1000)); got != res || cut != nil {
		t.Errorf("a small block came back as %s with cut %+v; want itself", got.Content[0].Raw, cut)
	}
}

// Blocks of very many members are looked through in a time in proportion to
// their number: in one that grows with its square this test takes minutes.
func TestShapeBlocksOfVeryManyMembers(t *testing.T) {
	var many strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&many, `,"m%d":0`, i)
	}
	for name, block := range map[string]tool.Content{
		"text":     {Type: tool.TypeText, Raw: json.RawMessage(`{"type":"text","text":"a"` + many.String() + `}`)},
		"image":    {Type: tool.TypeImage, Raw: json.RawMessage(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="` + many.String() + `}`)},
		"resource": {Type: tool.TypeResource, Raw: json.RawMessage(`{"type":"resource","resource":{"uri":"u:","text":"a"` + many.String() + `}}`)},
	} {
		got, _ := call.Shape(&tool.Result{Content: []tool.Content{block}}, limits(t, 1000))
		if n := len(got.Content[0].Raw); n > 1000 {
			t.Errorf("%s: %d bytes are left of what was no text", name, n)
		}
	}
	// Letters of another case are found among many members too, and the Kelvin
	// sign, which folds to k.
	some := many.String()[:strings.Index(many.String(), `,"m50"`)]
	for _, twice := range []string{`"data":"iVBORw0KGgo=","DATA":"PGh0bWw+"`, `"data":"iVBORw0KGgo=","k":0,"K":0`} {
		res := &tool.Result{Content: []tool.Content{{Type: tool.TypeImage, Raw: json.RawMessage(`{"type":"image","mimeType":"image/png"` + some + `,` + twice + `}`)}}}
		if got, _ := call.Shape(res, limits(t, 1000)); !strings.Contains(got.Content[0].Text(), "twice") {
			t.Errorf("an image with a second reading passed: %s", got.Content[0].Raw)
		}
	}
}

// randomJSON makes a document of about size nodes.
func randomJSON(r *rand.Rand, depth int) string {
	texts := []string{"", "a", `\"`, `\\`, `\ud83d\ude00`, "😀", "é", `\n`, "word ", strings.Repeat("long ", 60)}
	str := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(texts[r.IntN(len(texts))])
		}
		return `"` + b.String() + `"`
	}
	switch k := r.IntN(8); {
	case depth > 0 && k < 3:
		var parts []string
		for range r.IntN(12) {
			parts = append(parts, randomJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, " , ") + "]"
	case depth > 0 && k < 6:
		var parts []string
		for i := range r.IntN(12) {
			parts = append(parts, fmt.Sprintf(`"k%d" : %s`, i, randomJSON(r, depth-1)))
		}
		return "{\n" + strings.Join(parts, ",") + "}"
	case k == 6:
		return []string{"1", "-0.5e10", "true", "null", strings.Repeat("9", 100)}[r.IntN(5)]
	}
	return str()
}

func checkShaped(t *testing.T, res *tool.Result, max int) {
	t.Helper()
	shaper, err := call.NewShaper(call.Limits{Chars: max}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := shaper.Shape(call.Reader{}, res)
	if n := shown(got); n > max {
		t.Fatalf("%d characters of a budget of %d are shown", n, max)
	}
	if n := tool.Chars(string(got.Details)); n > max {
		t.Fatalf("details of %d characters, budget %d", n, max)
	}
	if json.Valid(res.Details) && !json.Valid(got.Details) {
		t.Fatalf("details are no longer valid: %s", got.Details)
	}
	for i, c := range got.Content {
		if !json.Valid(c.Raw) {
			t.Fatalf("block %d is not valid JSON: %s", i, c.Raw)
		}
		if !utf8.ValidString(c.Text()) {
			t.Fatalf("block %d is not valid UTF-8", i)
		}
	}
	if len(res.Content) > 0 && len(got.Content) > 0 {
		before := strings.TrimSpace(res.Content[0].Text())
		if before != "" && (before[0] == '{' || before[0] == '[') && json.Valid([]byte(before)) && !json.Valid([]byte(got.Content[0].Text())) {
			t.Fatalf("valid JSON became\n%s", got.Content[0].Text())
		}
	}
}

func TestShapeKeepsJSONValidProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		doc := randomJSON(r, 4)
		checkShaped(t, &tool.Result{Content: []tool.Content{tool.Text(doc), tool.Text(doc)}, Details: json.RawMessage(doc)}, 1000+r.IntN(2000))
	}
	deep := strings.Repeat(`{"a":[`, 3000) + `"` + strings.Repeat("x", 9000) + `"` + strings.Repeat("]}", 3000)
	checkShaped(t, &tool.Result{Content: []tool.Content{tool.Text(deep)}, Details: json.RawMessage(deep)}, 1000)
	many := make([]tool.Content, 5000)
	for i := range many {
		many[i] = tool.Text("block of text")
	}
	checkShaped(t, &tool.Result{Content: many}, 1000)
}

func FuzzShape(f *testing.F) {
	f.Add("plain\ntext", `{"a":[1,2,3]}`, `{"type":"x"}`, 1000)
	f.Add(strings.Repeat("é😀\n", 700), "["+strings.Repeat(`"\ud83d\ude00",`, 300)+"1]", `{"type":"resource","resource":{"uri":"u","text":"`+strings.Repeat("a\\n", 900)+`"}}`, 1001)
	f.Add(`{"result":"[\"`+strings.Repeat(`a\\nb\",\"`, 400)+`\"]"}`, `["[`+strings.Repeat(`[1],`, 500)+`2]"]`, `{"type":"x"}`, 1000)
	f.Add("[]", "{", `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, 5000)
	f.Fuzz(func(t *testing.T, text, details, block string, max int) {
		if max < call.MinChars || max > call.MaxChars {
			max = call.MinChars
		}
		res := &tool.Result{Content: []tool.Content{tool.Text(text)}, Details: json.RawMessage(details)}
		var c tool.Content
		if json.Valid([]byte(block)) && json.Unmarshal([]byte(block), &c) == nil {
			res.Content = append(res.Content, c)
		}
		checkShaped(t, res, max)
	})
}

func TestPagerReadsAllOfIt(t *testing.T) {
	pager, err := call.NewPager(call.PagerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	shaper, err := call.NewShaper(call.Limits{Chars: 1000}, pager)
	if err != nil {
		t.Fatal(err)
	}
	owner := call.Origin{Session: "s", Caller: "ann", Run: "r1"}
	full := strings.Repeat("zeile mit umlaut ü und 😀\n", 400)
	res := shaper.Shape(call.Reader{Origin: owner}, tool.TextResult(full))
	note := res.Content[len(res.Content)-1].Text()
	_, raw, ok := strings.Cut(note, "tool_call ")
	if !ok {
		t.Fatalf("the note %q tells no way to the rest", note)
	}
	got, _, _ := strings.Cut(res.Content[0].Text(), "… (")
	for pages := 0; ; pages++ {
		req, isPage, err := call.ReadPage(json.RawMessage(strings.TrimSuffix(raw, ".")))
		if !isPage || err != nil {
			t.Fatalf("%s is no page request: %v", raw, err)
		}
		owner.Run = fmt.Sprint("r", pages) // another request of the same session
		page, err := shaper.Page(owner, req)
		if err != nil {
			t.Fatal(err)
		}
		if n := shown(page); n > 1000 {
			t.Fatalf("a page of %d characters, budget 1000", n)
		}
		got += page.Content[0].Text()
		if _, raw, ok = strings.Cut(page.Content[1].Text(), "tool_call "); !ok {
			break
		}
	}
	if got != full {
		t.Errorf("the pages are not the text: %d of %d bytes", len(got), len(full))
	}
}

func TestPagerBindsAndBounds(t *testing.T) {
	now := time.Unix(1000, 0)
	pager, err := call.NewPager(call.PagerConfig{Texts: 8, Bytes: 4000, Age: time.Minute, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ann, bob := call.Origin{Session: "s", Caller: "ann"}, call.Origin{Session: "s", Caller: "bob"}
	read := func(o call.Origin, h string) error {
		_, err := pager.Page(o, call.PageRequest{Handle: h}, 100)
		return err
	}
	first, ok := pager.Hold(ann, "text of ann")
	if !ok || read(ann, first) != nil {
		t.Fatal("ann cannot read her own text")
	}
	other, unknown := read(bob, first), read(bob, "nothing")
	if other == nil || unknown == nil || other.Error() != unknown.Error() {
		t.Errorf("another's handle answers %v, an unknown one %v; they must be alike", other, unknown)
	}
	for range 20 { // bob fills his share, and not ann's
		if _, ok := pager.Hold(bob, strings.Repeat("b", 400)); !ok {
			t.Fatal("bob's text is not held")
		}
	}
	if err := read(ann, first); err != nil {
		t.Errorf("bob's texts pushed out ann's: %v", err)
	}
	if _, ok := pager.Hold(bob, strings.Repeat("b", 1001)); ok {
		t.Error("a text larger than an owner's share is held")
	}
	now = now.Add(time.Minute)
	if read(ann, first) == nil {
		t.Error("a text outlives its age")
	}
}

func TestReadPage(t *testing.T) {
	for args, want := range map[string]string{
		`{"page":"h","offset":7}`:              "page 7",
		`{"page":"h"}`:                         "page 0",
		`{"id":"mcp:a:b","page":"h"}`:          "none",
		`{"page":3}`:                           "none",
		`{}`:                                   "none",
		`[]`:                                   "none",
		`{"page":"h","offset":-1}`:             "error",
		`{"page":"h","offset":1.5}`:            "error",
		`{"page":"h","args":{},"offset":"x"}`:  "error",
		`{"page":"h","offset":99999999999999}`: "page 99999999999999",
	} {
		r, ok, err := call.ReadPage(json.RawMessage(args))
		got := fmt.Sprint("page ", r.Offset)
		if err != nil {
			got = "error"
		} else if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// BenchmarkShape compares shaping with what every result costs anyway: checking
// that it is valid JSON once.
func BenchmarkShape(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	doc := "["
	for len(doc) < 1<<20 {
		doc += randomJSON(r, 4) + ","
	}
	doc += "1]"
	small := tool.TextResult(doc[:10_000])
	large := &tool.Result{Content: []tool.Content{tool.Text(doc)}, Details: json.RawMessage(doc)}
	l := limits(b, call.DefaultChars)
	b.Run("within", func(b *testing.B) {
		for b.Loop() {
			call.Shape(small, l)
		}
	})
	b.Run("1MiB", func(b *testing.B) {
		var shape, valid time.Duration
		for b.Loop() {
			start := time.Now()
			call.Shape(large, l)
			middle := time.Now()
			json.Valid(large.Details)
			shape, valid = shape+middle.Sub(start), valid+time.Since(middle)
		}
		b.ReportMetric(float64(shape)/float64(valid), "×json.Valid")
	})
}

// Who holds much in many sessions pushes out its own texts, and nobody else's.
func TestPagerKeepsWhatOthersRead(t *testing.T) {
	pager, err := call.NewPager(call.PagerConfig{Texts: 8, Bytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	bob := call.Origin{Session: "s", Caller: "bob"}
	handle, ok := pager.Hold(bob, "what bob reads")
	if !ok {
		t.Fatal("not held")
	}
	for i := range 100 {
		size := 1 + i%2*900 // by number, and by bytes
		if _, ok := pager.Hold(call.Origin{Session: fmt.Sprint("s", i), Caller: "alice"}, strings.Repeat("a", size)); !ok {
			t.Fatalf("text %d is not held", i)
		}
	}
	if _, err := pager.Page(bob, call.PageRequest{Handle: handle}, 1000); err != nil {
		t.Errorf("the text of bob: %v", err)
	}
}
