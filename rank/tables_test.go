package rank_test

import (
	"slices"
	"testing"

	"github.com/toolsearch/toolsearch/rank"
)

// doc makes a document of "name: description" texts.
func doc(name, description string) rank.Document {
	d := rank.Document{ID: "openclaw:core:" + name, Name: name}
	d.Text[rank.Name], d.Text[rank.Description] = name, description
	return d
}

func names(docs []rank.Document, r rank.Result) []string {
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, docs[h.Doc].Name)
	}
	return out
}

func search(docs []rank.Document, query string) []string {
	return names(docs, rank.Build(docs).Search(rank.Query{Text: query, Limit: 20}))
}

// TestMustHold is the first table of the ranking contract, row by row.
func TestMustHold(t *testing.T) {
	scheduler := doc("cron_add", "Schedule a recurring task")
	web := doc("search", "Search the web")
	files := doc("file_manager", "Reads and writes each file of a folder")
	memory := doc("recall_facts", "Recall facts from long-term memory")
	withParam := doc("clone", "Make a working copy")
	withParam.Text[rank.Parameter] = "repository the address to copy from"

	tests := []struct {
		row   string
		query string
		docs  []rank.Document
		first string   // what comes first, "" for nothing at all
		not   []string // what must not be found
	}{
		{"1 inflection", "scheduling", []rank.Document{scheduler, web}, "cron_add", nil},
		{"2 words, not substrings", "read", []rank.Document{doc("spreadsheet_open", "Open a spreadsheet"), doc("read_file", "Read a file")}, "read_file", []string{"spreadsheet_open"}},
		{"3 stop words", "the and with", []rank.Document{web, doc("the_tool", "the and with")}, "", nil},
		{"3 nothing", "", []rank.Document{web}, "", nil},
		{"3 blanks", " \t\n ", []rank.Document{web}, "", nil},
		{"4 parameter", "repository", []rank.Document{web, withParam}, "clone", []string{"search"}},
		{"5 whole name", "web_search", []rank.Document{doc("web_search", "Look things up"), files}, "web_search", nil},
		{"5 first part", "web", []rank.Document{doc("web_search", "Look things up"), files}, "web_search", nil},
		{"5 second part", "search", []rank.Document{doc("web_search", "Look things up"), files}, "web_search", nil},
		{"6 intent", "look up the price", []rank.Document{files, web}, "search", nil},
		{"8 run", "run", []rank.Document{doc("task_runner", "Running tasks"), web}, "task_runner", []string{"search"}},
		{"8 call", "calling", []rank.Document{doc("phone", "Call a number"), doc("cal", "A cal")}, "phone", []string{"cal"}},
		{"8 process", "processing", []rank.Document{doc("proces", "A proces"), doc("jobs", "Process a job")}, "jobs", []string{"proces"}},
		{"8 off", "off", []rank.Document{doc("power", "Turn a device off"), doc("of_it", "of")}, "power", []string{"of_it"}},
		{"8 buzz", "buzzing", []rank.Document{doc("buz", "A buz"), doc("bell", "Buzz the door")}, "bell", []string{"buz"}},
		{"9 other script", "価格", []rank.Document{web, doc("shop", "商品の価格を調べる")}, "shop", []string{"search"}},
		{"9 other script, English only", "価格", []rank.Document{web, files}, "", nil},
		{"10 camel case", "read file", []rank.Document{doc("readFile", ""), web}, "readFile", nil},
		{"11 weather", "weather", []rank.Document{web, doc("get_weather", "Tells the temperature and the chance of rain for a place on the earth on a day")}, "get_weather", nil},
		{"12 new is not news", "open a new issue", []rank.Document{web, doc("tracker", "Open an issue")}, "tracker", []string{"search"}},
		{"13 plural", "repositories", []rank.Document{doc("clone", "Clone a repository"), web}, "clone", []string{"search"}},
		{"13 singular", "repository", []rank.Document{doc("clone", "Clone repositories"), web}, "clone", []string{"search"}},
		{"13 file intent", "list directories", []rank.Document{web, files}, "file_manager", []string{"search"}},
		{"13 memory intent", "memories", []rank.Document{web, doc("recall_facts", "Recall facts")}, "recall_facts", []string{"search"}},
		{"13 memories", "memories", []rank.Document{web, memory}, "recall_facts", []string{"search"}},
		{"14 cookie", "cookie", []rank.Document{doc("jar", "Shows all cookies"), web}, "jar", nil},
		{"14 cookies", "cookies", []rank.Document{doc("jar", "Shows one cookie"), web}, "jar", nil},
		{"14 policy", "policy", []rank.Document{doc("rules", "Lists the policies"), web}, "rules", nil},
		{"14 policies", "policies", []rank.Document{doc("rules", "Shows a policy"), web}, "rules", nil},
		{"15 status", "status", []rank.Document{doc("x", "The statu"), doc("y", "The status")}, "y", []string{"x"}},
		{"15 canvas", "canvas", []rank.Document{doc("x", "Made in Canva"), doc("y", "The canvas")}, "y", []string{"x"}},
		{"15 alias", "alias", []rank.Document{doc("x", "The alia"), doc("y", "The alias")}, "y", []string{"x"}},
		{"15 news", "news", []rank.Document{doc("x", "Something new"), doc("y", "The news")}, "y", []string{"x"}},
		{"15 analysis", "analysis", []rank.Document{doc("x", "The analysi"), doc("y", "The analysis")}, "y", []string{"x"}},
		{"16 exact name", "issue_create", []rank.Document{doc("note", "See issue_create"), doc("issue_create", "Opens a ticket in the tracker of the project, with a title, a body, labels and people")}, "issue_create", nil},
		{"17 get", "get", []rank.Document{web, doc("get_thing", "Thing")}, "get_thing", []string{"search"}},
		{"18 url", "url", []rank.Document{files, doc("getURLs", "Collect")}, "getURLs", []string{"file_manager"}},
		{"18 auth", "auth", []rank.Document{web, doc("getAuthToken", "Collect")}, "getAuthToken", []string{"search"}},
		{"18 oauth", "oauth", []rank.Document{web, doc("getOAuthToken", "Collect")}, "getOAuthToken", []string{"search"}},
		{"19 do", "do", []rank.Document{web, doc("do", "Something")}, "do", []string{"search"}},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) { expect(t, tt.docs, tt.query, tt.first, tt.not) })
	}
}

// expect checks an answer, also at limit 1 and with the documents reversed.
func expect(t *testing.T, docs []rank.Document, query, first string, not []string) {
	t.Helper()
	reversed := slices.Clone(docs)
	slices.Reverse(reversed)
	for _, docs := range [][]rank.Document{docs, reversed} {
		got := search(docs, query)
		if first == "" {
			if len(got) > 0 {
				t.Fatalf("search(%q) = %v, want nothing", query, got)
			}
			continue
		}
		if len(got) == 0 || got[0] != first {
			t.Fatalf("search(%q) = %v, want %s first", query, got, first)
		}
		for _, n := range not {
			if slices.Contains(got, n) {
				t.Errorf("search(%q) = %v, want it without %s", query, got, n)
			}
		}
		one := names(docs, rank.Build(docs).Search(rank.Query{Text: query, Limit: 1}))
		if len(one) != 1 || one[0] != first {
			t.Errorf("search(%q) at limit 1 = %v, want %s", query, one, first)
		}
	}
}

// TestBetterThanReference is the second table, row by row.
func TestBetterThanReference(t *testing.T) {
	tests := []struct {
		row   string
		query string
		docs  []rank.Document
		first string
		not   []string
	}{
		{"reply", "replies", []rank.Document{doc("a", "Send a reply"), doc("b", "Other")}, "a", []string{"b"}},
		{"family", "families", []rank.Document{doc("a", "A family tree"), doc("b", "Other")}, "a", []string{"b"}},
		{"anomaly", "anomalies", []rank.Document{doc("a", "Detect an anomaly"), doc("b", "Other")}, "a", []string{"b"}},
		{"supply", "supplies", []rank.Document{doc("a", "Order a supply"), doc("b", "Other")}, "a", []string{"b"}},
		{"customers", "customers", []rank.Document{doc("add_custom_field", "Add a custom field"), doc("customer_list", "List all")}, "customer_list", []string{"add_custom_field"}},
		{"apply", "apply", []rank.Document{doc("list_app", "List apps"), doc("apply_patch", "Patch")}, "apply_patch", []string{"list_app"}},
		{"settings", "change settings", []rank.Document{doc("config_set", "Set a value"), doc("settings_panel", "Panel")}, "settings_panel", []string{"config_set"}},
		{"scheduel", "scheduel a task", []rank.Document{doc("calendar", "Schedule things"), doc("other", "Other")}, "calendar", []string{"other"}},
		{"find_person", "find a client by email", []rank.Document{
			{ID: "client:client:pick_file", Name: "pick_file", Text: [rank.NumFields]string{rank.Name: "pick_file", rank.Description: "Let somebody choose a file"}},
			doc("find_person", "Find a person by email"),
		}, "find_person", nil},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) { expect(t, tt.docs, tt.query, tt.first, tt.not) })
	}
}

// TestMeetBelowLiteral has the pairs that meet, but below a literal match.
func TestMeetBelowLiteral(t *testing.T) {
	for _, tt := range []struct{ query, typed, other string }{
		{"translation", "translation", "translate"},
		{"notification", "notification", "notify"},
		{"deployment", "deployment", "deploy"},
		{"deletion", "deletion", "delete"},
		{"payment", "payment", "pay"},
		{"summary", "summary", "summarize"},
		{"repo", "repo", "repository"},
		{"db", "db", "database"},
		{"config", "config", "configuration"},
		{"k8s", "k8s", "kubernetes"},
		{"msg", "msg", "message"},
		{"remove", "remove", "delete"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			docs := []rank.Document{
				doc("weak", "Among many other words that say nothing of importance, somewhere a "+tt.typed),
				doc(tt.other+"_thing", tt.other+" "+tt.other),
				doc("unrelated", "Nothing"),
			}
			want := []string{"weak", tt.other + "_thing"}
			if got := search(docs, tt.query); !slices.Equal(got, want) {
				t.Errorf("search(%q) = %v, want %v", tt.query, got, want)
			}
			if got := search(docs[1:], tt.query); len(got) != 1 || got[0] != tt.other+"_thing" {
				t.Errorf("search(%q) without a literal match = %v, want %s_thing", tt.query, got, tt.other)
			}
		})
	}
	if got := search([]rank.Document{doc("x", "Delete an email"), doc("y", "Nothing")}, "remove an email"); len(got) != 1 {
		t.Errorf("remove an email = %v", got)
	}
}

// TestDoNotMeet has the pairs that only look alike.
func TestDoNotMeet(t *testing.T) {
	for _, tt := range [][2]string{
		{"offer", "off"}, {"summer", "sum"}, {"evening", "even"}, {"order", "ord"}, {"number", "numb"}, {"letter", "let"},
		{"settings", "set"}, {"customers", "custom"}, {"apply", "app"}, {"news", "new"},
	} {
		docs := []rank.Document{doc("x", tt[1]+" it"), doc("y", "Something else")}
		if got := search(docs, tt[0]); len(got) != 0 {
			t.Errorf("%s finds %s: %v", tt[0], tt[1], got)
		}
		docs[0] = doc("x", tt[0]+" it")
		if got := search(docs, tt[1]); len(got) != 0 {
			t.Errorf("%s finds %s: %v", tt[1], tt[0], got)
		}
	}
}

// TestSourceWordsInIDs: the parts of an id that name a source are not text.
func TestSourceWordsInIDs(t *testing.T) {
	docs := []rank.Document{doc("read", "Read a file"), {ID: "mcp:x:y", Name: "y"}, {ID: "client:client:z", Name: "z"}}
	for _, q := range []string{"core", "client", "mcp", "openclaw"} {
		if got := search(docs, q); len(got) != 0 {
			t.Errorf("search(%q) = %v, want nothing", q, got)
		}
	}
	if got := search(docs, "openclaw:core:read"); len(got) == 0 || got[0] != "read" {
		t.Errorf("search by id = %v, want read first", got)
	}
}
