package tool_test

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/tool"
)

func TestSecretForms(t *testing.T) {
	const secret = `a-secret/of "the" house?`
	forms := tool.SecretForms(secret, "", "other-secret")
	for i, f := range forms {
		if f == "" || i > 0 && len(f) > len(forms[i-1]) {
			t.Fatalf("form %d is %q, after %q", i, f, forms[max(i-1, 0)])
		}
	}
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, "#")
	}
	hide := strings.NewReplacer(pairs...).Replace
	for name, in := range map[string]string{
		"as it is": "it is " + secret + ".",
		"query":    "https://h/?a=" + url.QueryEscape(secret) + "&b=1",
		"path":     "https://h/" + url.PathEscape(secret) + "/x",
		"JSON":     `{"a":"a-secret/of \"the\" house?"}`,
	} {
		if out := hide(in); strings.Contains(out, "secret") || strings.Contains(out, "house") || !strings.Contains(out, "#") {
			t.Errorf("%s: %q became %q", name, in, out)
		}
	}
	// Of an encoding that holds the secret in its middle, no more than a byte on
	// either side can be told.
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for before := range 7 {
			for after := range 4 {
				text := strings.Repeat("u", before) + secret + strings.Repeat("v", after)
				out := hide(alphabet.EncodeToString([]byte(text)))
				head, tail, found := strings.Cut(out, "#")
				if !found || len(head) > (before*8+5)/6 || len(strings.TrimRight(tail, "=")) > (after*8+5)/6+1 {
					t.Errorf("%d bytes before and %d after: left is %q", before, after, out)
				}
			}
		}
	}
	if got := tool.SecretForms("abc"); strings.Join(got, " ") != "YWJj abc" {
		t.Errorf("a short secret has the forms %q: parts of its encoding stand in any text", got)
	}
}

func TestSecretsOfHeadersAndAddresses(t *testing.T) {
	for in, want := range map[string][]string{"Bearer abc": {"Bearer abc", "abc"}, "abc": {"abc"}} {
		if got := tool.HeaderSecrets(in); !slices.Equal(got, want) {
			t.Errorf("of the header %q: %q, want %q", in, got, want)
		}
	}
	counts := func(name, value string) bool { return name != "format" && value != "" }
	for in, want := range map[string][]string{
		"https://ann:of-ann@h/x?key=b%20c&key=a&format=json": {"a", "b c", "of-ann"},
		"https://a-token@h/":            {"a-token"},
		"https://h/?empty=":             nil,
		"://":                           nil,
		"http://h/#fragment?key=unsent": nil,
	} {
		if got := tool.AddressSecrets(in, counts); !slices.Equal(got, want) {
			t.Errorf("of the address %q: %q, want %q", in, got, want)
		}
	}
}

func TestAddressSecrets(t *testing.T) {
	all := func(string, string) bool { return true }
	for address, want := range map[string]string{
		"https://h/mcp":                                  "",
		"https://ann:pw1@h/mcp":                          "pw1",
		"https://tok2@h/mcp":                             "tok2",
		"https://h/mcp?a=b3&c=":                          " b3",
		"https://h/api/mcp/s/NmQxZjE4YWMtNTQ4Mi00/mcp":   "NmQxZjE4YWMtNTQ4Mi00",
		"https://h/s/AbCdEfGh0123456789IjKl==/sse":       "AbCdEfGh0123456789IjKl==",
		"https://h/openai/deployments/gpt-4o-2024-07-18": "",
		"https://h/internationalization-of-everything":   "",
		"https://h/v1/20261130":                          "",
		"no address%zz":                                  "",
	} {
		if got := strings.Join(tool.AddressSecrets(address, all), " "); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
