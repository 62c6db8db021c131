package rank_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolsearch/toolsearch/rank"
)

func TestWeak(t *testing.T) {
	docs := []rank.Document{
		doc("list_issues", "List the issues of a project"), doc("list_files", "List the files of a folder"),
		doc("list_users", "List all users"), doc("send_mail", "Send a mail to somebody"),
		doc("get_weather", "Tell the weather of a city"), doc("delete_file", "Delete a file"),
	}
	x := rank.Build(docs)
	for _, tt := range []struct {
		query string
		weak  bool
	}{
		{"list the planets of the solar system", true},
		{"list issues", false},
		{"list_files", false},
		{"send a mail", false},
		{"weather in Kathmandu", false},
	} {
		r := x.Search(rank.Query{Text: tt.query, Limit: 8})
		if len(r.Hits) == 0 || r.Weak != tt.weak || r.Hits[0].Weak != tt.weak {
			t.Errorf("search(%q): weak %v, %d hits; want weak %v", tt.query, r.Weak, len(r.Hits), tt.weak)
		}
	}
}

func TestRepairs(t *testing.T) {
	x := rank.Build([]rank.Document{doc("cron_add", "Schedule a recurring task"), doc("repository_clone", "Clone")})
	for _, tt := range []struct {
		query string
		want  []rank.Repair
	}{
		{"scheduel a task", []rank.Repair{{Typed: "scheduel", Read: "schedule"}}},
		{"clone the repositroy", []rank.Repair{{Typed: "repositroy", Read: "repository"}}},
		{"schedule a task", nil}, // known: nothing to repair
		{"xyzzy", nil},           // nothing near
		{"tsk", nil},             // too short to tell
	} {
		if got := x.Search(rank.Query{Text: tt.query, Limit: 8}).Repairs; !slices.Equal(got, tt.want) {
			t.Errorf("search(%q) repairs %v, want %v", tt.query, got, tt.want)
		}
	}
}

// TestExplain: every kind of match says what it is, where, and in which tier.
func TestExplain(t *testing.T) {
	d := doc("translate_text", "Translate a text for the database webhook")
	d.Text[rank.Owner] = "deepl"
	x := rank.Build([]rank.Document{d, doc("search", "Search the web")})
	for _, tt := range []struct {
		query  string
		term   string
		why    rank.Why
		tier   rank.Tier
		fields []rank.Field
	}{
		{"translating", "text", rank.Typed, rank.Literal, nil},
		{"text", "text", rank.Typed, rank.Literal, []rank.Field{rank.Name, rank.Description}},
		{"deepl", "deepl", rank.Typed, rank.Literal, []rank.Field{rank.Owner}},
		{"translation", "translate", rank.Derivation, rank.Added, []rank.Field{rank.Name, rank.Description}},
		{"db", "database", rank.Abbreviation, rank.Added, []rank.Field{rank.Description}},
		{"web hook", "webhook", rank.Compound, rank.Added, []rank.Field{rank.Description}},
		{"databsae", "database", rank.Typo, rank.Added, []rank.Field{rank.Description}},
		{"look up something", "web", rank.Intent, rank.Added, []rank.Field{rank.Description}},
	} {
		r := x.Search(rank.Query{Text: tt.query, Limit: 8, Explain: true})
		found := tt.fields == nil && len(r.Hits) > 0
		for _, h := range r.Hits {
			for _, reason := range h.Reasons {
				if reason.Term == tt.term && reason.Why == tt.why && reason.Tier == tt.tier &&
					slices.Equal(reason.Fields, tt.fields) && reason.Score > 0 {
					found = true
				}
			}
		}
		if !found {
			t.Errorf("search(%q) = %+v; want a reason {%s %v %v %v}", tt.query, r.Hits, tt.term, tt.why, tt.tier, tt.fields)
		}
		if plain := x.Search(rank.Query{Text: tt.query, Limit: 8}); len(plain.Hits) > 0 && plain.Hits[0].Reasons != nil {
			t.Errorf("search(%q) without Explain has reasons", tt.query)
		}
	}
}

func TestSuggest(t *testing.T) {
	docs := []rank.Document{
		doc("create_issue", "Open an issue"), doc("create_repo", "Make a repository"), doc("send_email", "Send mail"), doc("read_file", "Read"),
	}
	x := rank.Build(docs)
	for _, tt := range []struct {
		name string
		n    int
		want string // the first suggestion, "" for none
	}{
		{"crete_issue", 3, "create_issue"},
		{"issue_create", 3, "create_issue"},
		{"Create-Issue", 3, "create_issue"},
		{"openclaw:core:read_fil", 3, "read_file"},
		{"emailSend", 3, "send_email"},
		{"zzzzzz", 3, ""},
		{"", 3, ""},
		{"create_issue", 0, ""},
	} {
		got := x.Suggest(tt.name, tt.n)
		switch {
		case tt.want == "" && len(got) > 0, tt.want != "" && (len(got) == 0 || docs[got[0]].Name != tt.want), len(got) > max(0, tt.n):
			t.Errorf("Suggest(%q, %d) = %v, want %q first", tt.name, tt.n, got, tt.want)
		}
	}
}

// TestTokens: what a text is cut into, seen from outside: each query must find
// exactly the documents that say it.
func TestTokens(t *testing.T) {
	for _, tt := range []struct{ text, finds, misses string }{
		{"readFile", "read file", "readf"},
		{"getHTTPServer", "http server", "httpserve"},
		{"parseURLs", "url", "ur"},
		{"getOAuth2Token", "oauth2", "auth2"},
		{"getOAuth2Token", "oauth", "o"},
		{"S3Bucket", "s3 bucket", "s"},
		{"GitHub", "github", "ithub"},
		{"k8s cluster", "k8s", "k8"},
		{"Käse und Größe", "kase grosse", "k"},
		{"ｆｕｌｌｗｉｄｔｈ", "fullwidth", "full"},
		{"the user's name", "user name", "s"},
		{"天气预报", "天气", "气天"},
		{"北京的天气", "天气", "京天"},
		{"ファイルを読む", "ファイル", "ルフ"},
		{"อ่านไฟล์", "ไฟล์", "ฟไ"},
		{"Прочитать файл", "файл", "фай"},
		{"an x-ray", "xray", "ray"},
	} {
		docs := []rank.Document{doc("x", tt.text)}
		if got := search(docs, tt.finds); len(got) != 1 {
			t.Errorf("%q does not find %q", tt.finds, tt.text)
		}
		if got := search(docs, tt.misses); len(got) != 0 {
			t.Errorf("%q finds %q", tt.misses, tt.text)
		}
	}
}

// TestOwner: an owner counts weakly, and a query that names one prefers it.
func TestOwner(t *testing.T) {
	owned := func(owner, name, description string) rank.Document {
		d := doc(name, description)
		d.ID = owner + ":" + name
		d.Text[rank.Owner] = owner
		return d
	}
	docs := []rank.Document{
		owned("alpha", "create_issue", "Create an issue"), owned("github", "create_issue", "Create an issue in the tracker of a project"),
		owned("jira", "create_issue", "Create an issue"), owned("issue", "ping", "Ping"),
	}
	r := rank.Build(docs).Search(rank.Query{Text: "create a github issue", Limit: 8})
	if len(r.Hits) == 0 || docs[r.Hits[0].Doc].ID != "github:create_issue" {
		t.Errorf("the named owner is not first: %+v", r.Hits)
	}
	if got := search(docs, "issue"); len(got) != 4 || got[3] != "ping" {
		t.Errorf("search(issue) = %v, want the owner's match last", got)
	}
}

// Documents that Keep refuses are as if they did not match: none of them takes
// the place of another in the answer.
func TestKeep(t *testing.T) {
	var docs []rank.Document
	for i := range 200 {
		d := rank.Document{ID: fmt.Sprintf("%03d", i), Name: "get_weather"}
		d.Text[rank.Name] = d.Name
		d.Text[rank.Description] = "Get the weather"
		docs = append(docs, d)
	}
	docs[150].Name, docs[150].Text[rank.Name] = "other", "other" // the worst of them
	x := rank.Build(docs)
	for _, text := range []string{"weather", "get_weather", "get the weather of Oslo"} {
		only := func(doc int) bool { return doc == 150 || doc == 199 }
		got := x.Search(rank.Query{Text: text, Limit: 3, Keep: only})
		if len(got.Hits) != 2 || got.Total != 2 || got.Hits[0].Doc != 199 || got.Hits[1].Doc != 150 {
			t.Errorf("%q: %+v, want the documents 199 and 150", text, got)
		}
		all := x.Search(rank.Query{Text: text, Limit: 3})
		if len(all.Hits) != 3 || all.Total != 200 {
			t.Errorf("%q, after that: %d hits of %d, want 3 of 200", text, len(all.Hits), all.Total)
		}
	}
}

func TestLimits(t *testing.T) {
	var docs []rank.Document
	for i := range 1500 {
		docs = append(docs, doc(fmt.Sprintf("tool_%04d", i), "A common word"))
	}
	x := rank.Build(docs)
	for _, tt := range []struct{ limit, want int }{{-1, 0}, {0, 0}, {1, 1}, {20, 20}, {rank.MaxLimit, rank.MaxLimit}, {1 << 40, rank.MaxLimit}} {
		r := x.Search(rank.Query{Text: "common", Limit: tt.limit})
		if len(r.Hits) != tt.want || tt.want > 0 && r.Total != 1500 {
			t.Errorf("limit %d: %d hits of %d, want %d of 1500", tt.limit, len(r.Hits), r.Total, tt.want)
		}
	}
	r := x.Search(rank.Query{Text: "common", Limit: 3})
	for i, h := range r.Hits { // equal scores: by id
		if want := fmt.Sprintf("tool_%04d", i); docs[h.Doc].Name != want {
			t.Errorf("hit %d is %s, want %s", i, docs[h.Doc].Name, want)
		}
	}
	if r := rank.Build(nil).Search(rank.Query{Text: "x", Limit: 5}); r.Hits != nil || r.Total != 0 {
		t.Errorf("an empty index answers %+v", r)
	}
}

// TestHugeTexts: a text beyond the bounds costs no more than the bound, and
// its beginning is found.
func TestHugeTexts(t *testing.T) {
	huge := doc("huge", "needle "+strings.Repeat("hay stack ", 1<<20))
	distinct := &strings.Builder{}
	for i := range 1 << 18 {
		fmt.Fprintf(distinct, "w%x ", i)
	}
	x := rank.Build([]rank.Document{huge, doc("many", "pin "+distinct.String()), doc("small", "needle")})
	if n := x.Bytes(); n > 4<<20 {
		t.Errorf("the index of two huge texts takes %d bytes", n)
	}
	if r := x.Search(rank.Query{Text: "pin", Limit: 5}); len(r.Hits) != 1 {
		t.Errorf("the beginning of a huge text is not found: %+v", r)
	}
	query := "needle " + distinct.String()
	if r := x.Search(rank.Query{Text: query, Limit: 5}); len(r.Hits) == 0 {
		t.Error("the beginning of a huge query is not searched")
	}
	if r := x.Search(rank.Query{Text: strings.Repeat("ab ", 1<<20), Limit: 5}); len(r.Hits) != 0 {
		t.Errorf("hits of nothing: %+v", r)
	}
	x.Suggest(query, 5)
}

// TestManyWords: the weights of a query of very many words do not overflow the
// score: what matches most of them stays first.
func TestManyWords(t *testing.T) {
	var words []string
	for i := range 400 {
		words = append(words, fmt.Sprintf("word%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i%7))
	}
	all, half := strings.Join(words, " "), strings.Join(words[:20], " ")
	docs := []rank.Document{doc("half", half), doc("all", all), doc("none", "other")}
	if got := search(docs, strings.Repeat(all+" ", 3)); !slices.Equal(got, []string{"all", "half"}) {
		t.Errorf("got %v, want [all half]", got)
	}
}

func TestConcurrent(t *testing.T) {
	docs := []rank.Document{doc("read_file", "Read a file"), doc("write_file", "Write a file"), doc("search", "Search the web")}
	x := rank.Build(docs)
	queries := []string{"read file", "look up the price", "wriet a file", "search", "write_file"}
	var want []rank.Result
	for _, q := range queries {
		want = append(want, x.Search(rank.Query{Text: q, Limit: 5, Explain: true}))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				q := i % len(queries)
				if got := x.Search(rank.Query{Text: queries[q], Limit: 5, Explain: true}); !reflect.DeepEqual(got, want[q]) {
					t.Errorf("search(%q) differs between goroutines", queries[q])
				}
			}
		})
	}
	wg.Wait()
}
