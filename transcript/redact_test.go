package transcript_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/transcript"
)

const hidden = "[redacted]"

func redactor() *transcript.Redactor {
	return transcript.NewRedactor(transcript.RedactorConfig{
		Fields:  []string{"customer.iban", "x"},
		Secrets: []string{"tok-12345", `quo"te\d`, "tok-12345-long", "abc", "87654321", "naïve✓secret"},
	})
}

func TestRedactJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing to hide keeps every byte", ` { "a" : 1.0, "b":[ true,null, "caf\u00e9" ] , "n":9007199254740993 } `, ` { "a" : 1.0, "b":[ true,null, "caf\u00e9" ] , "n":9007199254740993 } `},
		{"password", `{"user":"ann","password":"hunter2"}`, `{"user":"ann","password":"[redacted]"}`},
		{"deep", `{"a":[{"b":{"api_key":"k1","c":2}}]}`, `{"a":[{"b":{"api_key":"[redacted]","c":2}}]}`},
		{"spellings", `{"API-Key":"a","apiKey":"b","x_api_key":"c","Authorization":"d","Set-Cookie":"e","clientSecret":"f","access_token":"g","DB_PASSWORD":"h","private key":"i"}`,
			`{"API-Key":"[redacted]","apiKey":"[redacted]","x_api_key":"[redacted]","Authorization":"[redacted]","Set-Cookie":"[redacted]","clientSecret":"[redacted]","access_token":"[redacted]","DB_PASSWORD":"[redacted]","private key":"[redacted]"}`},
		{"an escaped name", `{"pass\u0077ord":"hunter2"}`, `{"pass\u0077ord":"[redacted]"}`},
		{"numbers, lists and objects are values too", `{"token":123456,"secrets":["a",{"b":"c"}],"credentials":{"user":"u"}}`, `{"token":"[redacted]","secrets":"[redacted]","credentials":"[redacted]"}`},
		{"what tells nothing stays", `{"password":null,"secret":true,"token":""}`, `{"password":null,"secret":true,"token":""}`},
		{"counts and pages stay", `{"max_tokens":100,"tokens":5,"nextPageToken":"p2","tokenizer":"bpe","author":"a","passenger":"b","monkey":"c","keyboard":"d"}`,
			`{"max_tokens":100,"tokens":5,"nextPageToken":"p2","tokenizer":"bpe","author":"a","passenger":"b","monkey":"c","keyboard":"d"}`},
		{"configured fields", `{"Customer_IBAN":"DE1","x":1,"y":2}`, `{"Customer_IBAN":"[redacted]","x":"[redacted]","y":2}`},
		{"headers as pairs", `[{"name":"Authorization","value":"Bearer abcd"},{"value":"s","key":"x-api-key"},{"name":"city","value":"Bern"}]`,
			`[{"name":"Authorization","value":"[redacted]"},{"value":"[redacted]","key":"x-api-key"},{"name":"city","value":"Bern"}]`},
		{"a name twice", `{"password":"a","password":"b"}`, `{"password":"[redacted]","password":"[redacted]"}`},
		{"known value", `{"q":"use tok-12345 now"}`, `{"q":"use [redacted] now"}`},
		{"known value, longest first", `{"q":"tok-12345-long"}`, `{"q":"[redacted]"}`},
		{"known value with escapes", `{"q":"a quo\"te\\d b"}`, `{"q":"a [redacted] b"}`},
		{"known value in odd escapes", `{"q":"\u0074ok-1234\u0035"}`, `{"q":"[redacted]"}`},
		{"known value outside of ASCII", `{"q":"na\u00efve\u2713secret naïve✓secret"}`, `{"q":"[redacted] [redacted]"}`},
		{"known value as a name", `{"tok-12345":1}`, `{"[redacted]":1}`},
		{"known value as a number", `{"n":87654321}`, `{"n":"[redacted]"}`},
		{"known value in base64", `{"q":"Basic dG9rLTEyMzQ1"}`, `{"q":"Basic [redacted]"}`},
		{"known value in a URL", `{"q":"https://h/?a=quo%22te%5Cd"}`, `{"q":"https://h/?a=[redacted]"}`},
		{"short values are not looked for", `{"q":"abc"}`, `{"q":"abc"}`},
		{"JSON in a string", `{"type":"text","text":"{\"password\":\"hunter2\",\"n\":1.0}"}`, `{"type":"text","text":"{\"password\":\"[redacted]\",\"n\":1.0}"}`},
		{"JSON in JSON in a string", `["[\"{\\\"token\\\":\\\"t1\\\"}\"]"]`, `["[\"{\\\"token\\\":\\\"[redacted]\\\"}\"]"]`},
		{"not JSON", `{"password":"hunter2"`, `"[not readable as JSON, left out]"`},
		{"two values", `{} {}`, `"[not readable as JSON, left out]"`},
		{"empty", ``, `"[not readable as JSON, left out]"`},
		{"too deep", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), `"[not readable as JSON, left out]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(redactor().JSON([]byte(c.in))); got != c.want {
				t.Errorf("\n   of %s\n  got %s\n want %s", c.in, got, c.want)
			}
		})
	}
}

func TestRedactText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"the weather in Bern: sunny, a=b", "the weather in Bern: sunny, a=b"},
		{"key AKIAIOSFODNN7EXAMPLE.", "key " + hidden},
		{"use ghp_abcdefghijklmnopqrstuvwxyz0123456789 now", "use " + hidden + " now"},
		{"(sk-ant-api03-abcdefghijklmnopqrstuvwxyz)", "(" + hidden + ")"},
		{"risk-taking and desk-bound sk-short", "risk-taking and desk-bound sk-short"},
		{"password=hunter2 next", "password=" + hidden + " next"},
		{"export GITHUB_TOKEN=ghp_1; ls", "export GITHUB_TOKEN=" + hidden + "; ls"},
		{`curl -H "Authorization: Bearer abc.def" https://h`, `curl -H "Authorization: ` + hidden + `" https://h`},
		{"Authorization: Basic dXNlcg==\nHost: h", "Authorization: " + hidden + "\nHost: h"},
		{`api_key: "a b c" rest`, `api_key: "` + hidden + `" rest`},
		{`said {"token": "abc", "n": 1}`, `said {"token": "` + hidden + `", "n": 1}`},
		{`mysql --password hunter2 db`, `mysql --password ` + hidden + ` db`},
		{`mysql --password=hunter2 db`, `mysql --password=` + hidden + ` db`},
		{"postgres://ann:hunter2@db/x", "postgres://ann:" + hidden + "@db/x"},
		{"https://h:8080/a@b", "https://h:8080/a@b"},
		{"GET /?access_token=abc&page=2", "GET /?access_token=" + hidden + "&page=2"},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n" + hidden + "\nb"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", hidden},
		{"-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE"},
		{"it is tok-12345", "it is " + hidden},
		{"password:", "password:"},
		{`password="`, `password="`},
		{"", ""},
	} {
		if got := redactor().Text(c.in); got != c.want {
			t.Errorf("\n   of %s\n  got %s\n want %s", c.in, got, c.want)
		}
	}
}

func TestRedactSecretInsideAnEncoding(t *testing.T) {
	const secret = "a-secret-of-the-house"
	r := transcript.NewRedactor(transcript.RedactorConfig{Secrets: []string{secret}})
	for before := range 3 {
		enc := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before) + secret + " and more"))
		if got := r.Text(enc); len(got) > len(hidden)+20 || !strings.Contains(got, hidden) {
			t.Errorf("%d bytes before it: %s became %s", before, enc, got)
		}
	}
}

// The examples have the form that each issuer documents for its keys.
func TestRedactIssuedTokens(t *testing.T) {
	body := strings.Repeat("aB3", 24)
	for _, prefix := range []string{
		"AIza", "AKIA", "ASIA", "eyJ", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "npm_",
		"sk-", "sk_live_", "sk_test_", "rk_live_", "whsec_", "xapp-", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "ya29.",
	} {
		for _, before := range []string{"", "use ", "(", "\n", "a,"} {
			if got, want := redactor().Text(before+prefix+body+" then"), before+hidden+" then"; got != want {
				t.Errorf("%q became %q", before+prefix+body, got)
			}
		}
		if inside := "word" + prefix + body; redactor().Text(inside) != inside {
			t.Errorf("%q is part of a word, and was taken out", inside)
		}
	}
}

// encoding/json is the authority on what JSON is and on what a string means.
func FuzzRedactJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"password":"x"}]}`, `"\ud800 tok-12345"`, `{"name":"token","value":"v"}`, `[1e5,-0.1,0]`, `01`, `"\x"`, `{"a":"{\"b\":\"tok-12345\"}"}`,
		`{"q":"\u0074ok-12345"}`, "\"\x80tok-12345\"", `{"a":"-----BEGIN PRIVATE KEY-----"}`, `{"tok-12345":"tok-12345"}`, `"https://a:b@c"`, ` null `,
	} {
		f.Add([]byte(seed))
	}
	const secret = "tok-12345"
	r := transcript.NewRedactor(transcript.RedactorConfig{Secrets: []string{secret}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := bytes.Clone(raw)
		out := r.JSON(raw)
		if !bytes.Equal(in, raw) {
			t.Fatal("the input was changed")
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q, which is not JSON", raw, out)
		}
		if left := string(out) == `"[not readable as JSON, left out]"`; left == json.Valid(raw) && !deep(raw) && !bytes.Equal(out, raw) {
			t.Fatalf("valid JSON is %v, but %q became %q", json.Valid(raw), raw, out)
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(out))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if holds(v, secret) {
			t.Fatalf("the secret is still in %q", out)
		}
		if again := r.JSON(out); !bytes.Equal(again, out) {
			t.Fatalf("a second pass changed %q to %q", out, again)
		}
	})
}

func deep(raw []byte) bool { return bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > 500 }

// holds reports whether any string or name in v holds text.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, x := range v {
			if holds(x, text) {
				return true
			}
		}
	case map[string]any:
		for name, x := range v {
			if strings.Contains(name, text) || holds(x, text) {
				return true
			}
		}
	}
	return false
}

func FuzzRedactText(f *testing.F) {
	for _, seed := range []string{"password=x", `"token": "a\"b"`, "--secret", "://a:b@", "-----BEGIN ", "Authorization: Bearer", "a=\\\\\"", "token: token token"} {
		f.Add(seed)
	}
	const secret = "tok-12345"
	r := transcript.NewRedactor(transcript.RedactorConfig{Secrets: []string{secret}})
	f.Fuzz(func(t *testing.T, text string) {
		if out := r.Text(text + " " + secret); strings.Contains(out, secret) {
			t.Errorf("the secret is still in %q", out)
		}
		// What follows a secret's name on a line of its own is always hidden.
		if out := r.Text(text + "\npassword=hunter2\n"); strings.Contains(out, "=hunter2") {
			t.Errorf("the password is still in %q", out)
		}
	})
}

func BenchmarkRedactJSON(b *testing.B) {
	secrets := make([]string, 20)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("secret-value-%02d-%x", i, i*7919)
	}
	r := transcript.NewRedactor(transcript.RedactorConfig{Secrets: secrets})
	plain := transcript.NewRedactor(transcript.RedactorConfig{})
	small := []byte(`{"path":"docs/a.md","query":"how does a request flow","limit":20,"nested":{"note":"nothing secret"}}`)
	large := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("A line of text that holds nothing of note: really. ", 1200) + `"}]}`)
	for _, c := range []struct {
		name string
		r    *transcript.Redactor
		in   []byte
	}{{"small", plain, small}, {"small/secrets", r, small}, {"60KB", plain, large}, {"60KB/secrets", r, large}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				c.r.JSON(c.in)
			}
		})
	}
}
