package transcript

import "strings"

// tokenForms are the beginnings by which issuers mark their secrets, and the
// least length of a whole one, in bytes. They come from the issuers' own
// documentation of their key formats.
var tokenForms = [...]struct {
	prefix string
	least  int
}{
	{"AIza", 35},               // Google API key
	{"AKIA", 20}, {"ASIA", 20}, // AWS access key id
	{"eyJ", 60},                                                                               // JSON Web Token: base64 of {"
	{"ghp_", 36}, {"gho_", 36}, {"ghu_", 36}, {"ghs_", 36}, {"ghr_", 36}, {"github_pat_", 40}, // GitHub
	{"glpat-", 20},                                                       // GitLab
	{"hf_", 30},                                                          // Hugging Face
	{"npm_", 36},                                                         // npm
	{"sk-", 24},                                                          // OpenAI, Anthropic
	{"sk_live_", 24}, {"sk_test_", 24}, {"rk_live_", 24}, {"whsec_", 24}, // Stripe
	{"xapp-", 20}, {"xoxa-", 20}, {"xoxb-", 20}, {"xoxp-", 20}, {"xoxr-", 20}, {"xoxs-", 20}, // Slack
	{"ya29.", 30}, // Google OAuth
}

// leastToken is the shortest of the least lengths.
const leastToken = 20

// token returns the end of the issuer-marked secret that begins at i, the
// beginning of a word, or i.
func token(text string, i int) int {
	if len(text)-i < leastToken {
		return i
	}
	switch text[i : i+2] {
	case "AI", "AK", "AS", "ey", "gh", "gi", "gl", "hf", "np", "rk", "sk", "wh", "xa", "xo", "ya": // as tokenForms begin
	default:
		return i
	}
	for _, f := range tokenForms {
		if !strings.HasPrefix(text[i:], f.prefix) {
			continue
		}
		end := i
		for end < len(text) && nameByte(text[end]) {
			end++
		}
		if end-i >= f.least {
			return end
		}
	}
	return i
}
