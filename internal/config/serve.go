package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/hook"
	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/turn"
)

// Serve is the section serve. No number is zero.
type Serve struct {
	Listen      string // host:port; port 0 takes a free one
	ListenPos   Pos
	Keys        []ServeKey // in the file's order
	Held        Held
	Limits      turn.Limits   // of one request to an agent
	MaxBody     int64         // bytes of one request
	MaxRequests int           // at one time
	Drain       time.Duration // what a shutdown waits for requests in flight
	MemoryLimit int64         // bytes; soft
}

// ServeKey is one bearer key, by its SHA-256 or by reference.
type ServeKey struct {
	Name   string // who calls: 1 to 64 letters, digits, '_', '-' and '.'
	Pos    Pos
	SHA256 string // 64 hexadecimal digits, or "" with Key
	Key    Text
	Who
	Metrics bool // may read /metrics
}

// Who says whose rules and settings hold for a request.
type Who struct {
	Agent    string // "" for the default settings
	Sender   string // whose rules of tools.toolsBySender hold; "" for none
	Group    string // whose rules of tools.toolsByGroup hold; "" for none
	Sandbox  bool   // the rules of tools.sandbox hold
	Subagent bool   // the rules of tools.subagents hold
	// NativeToolSearch says that whoever asks searches tools itself: it gets the
	// tools, and none of our controls.
	NativeToolSearch bool
}

// Held bounds the runs that wait for their caller to answer a tool call.
type Held struct {
	Max  int           // runs at one time; beyond it the oldest is let go
	Time time.Duration // how long one waits
}

const (
	minKeyBytes = 16
	maxKeys     = 1000
)

func defaultServe() Serve {
	return Serve{
		Listen:  "127.0.0.1:8787",
		Held:    Held{Max: 256, Time: 10 * time.Minute},
		Limits:  turn.Limits{Rounds: turn.DefaultRounds, Calls: turn.DefaultCalls, Time: turn.DefaultTime, Tokens: turn.DefaultTokens},
		MaxBody: 16 << 20, MaxRequests: 512, Drain: 30 * time.Second, MemoryLimit: 320 << 20,
	}
}

func serveSection() section[Serve] {
	d := defaultServe()
	return section[Serve]{
		path:  "serve",
		intro: "The HTTP server: `/v1/chat/completions`, `/v1/responses`, `/v1/messages`, `/v1/models`, `/tools/invoke`, `/mcp`, `/healthz`, `/readyz` and `/metrics`.",
		fields: []field[Serve]{
			{row{Key: "listen", Type: "string", Default: "`" + d.Listen + "`", Doc: "Where it listens, as `host:port`; port 0 takes a free one. An address that other machines reach needs `keys`, and a proxy in front that speaks TLS: this is plain HTTP."},
				func(r *reader, s spot, v *Serve) {
					t, ok := r.text(s)
					if ok && badListen(t) {
						r.fault(r.at(s), s.path, "expected host:port", `such as "127.0.0.1:8787"`)
					} else if ok {
						v.Listen, v.ListenPos = t, r.at(s)
					}
				}},
			{row{Key: "keys", Type: "array of objects", Doc: "Who may ask. Without keys only programs of this machine may, and only as `localhost` or `127.0.0.1`. Pages of other origins are never answered. See `serve.keys[]` below."}, readServeKeys},
			part(row{Key: "heldRuns", Doc: "Runs that wait for their caller. See `serve.heldRuns` below."}, heldSection(), func(v *Serve) *Held { return &v.Held }),
			part(row{Key: "limits", Doc: "How much one request may take. See `serve.limits` below."}, runLimitsSection(), func(v *Serve) *turn.Limits { return &v.Limits }),
			number(row{Key: "maxBodyBytes", Default: fmt.Sprint(d.MaxBody), Doc: "The largest request, in bytes."}, 1024, 256<<20, func(v *Serve, n int64, _ Pos) { v.MaxBody = n }),
			number(row{Key: "maxRequests", Default: fmt.Sprint(d.MaxRequests), Doc: "Requests at one time. One more is answered with status 429, and so is one whose body would make all of them more than half of `memoryLimitMiB`. Of both, one of several `keys` gets three quarters at most."}, 1, 100_000, func(v *Serve, n int64, _ Pos) { v.MaxRequests = int(n) }),
			seconds(row{Key: "drainSeconds", Default: "30", Doc: "How long a shutdown waits for requests in flight."}, 1, 3600, func(v *Serve) *time.Duration { return &v.Drain }),
			number(row{Key: "memoryLimitMiB", Default: fmt.Sprint(d.MemoryLimit >> 20), Doc: "Where the garbage collector begins to work harder, in MiB. `GOMEMLIMIT` in the environment wins."}, 64, 1<<20,
				func(v *Serve, n int64, _ Pos) { v.MemoryLimit = n << 20 }),
		},
		moved: map[string]string{"port": `write listen: "127.0.0.1:PORT"`, "host": `write listen: "HOST:PORT"`, "address": "write listen", "tokens": "write keys"},
	}
}

func badListen(s string) bool {
	_, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err != nil || bad != nil || strconv.FormatUint(n, 10) != port
}

// seconds is a field that holds a time in whole seconds.
func seconds[T any](r row, low, high int64, of func(*T) *time.Duration) field[T] {
	return number(r, low, high, func(t *T, v int64, _ Pos) { *of(t) = time.Duration(v) * time.Second })
}

func heldSection() section[Held] {
	return section[Held]{
		path:  "serve.heldRuns",
		intro: "A run that calls a tool of its caller ends the response, and waits here for the answer. When it is gone, the conversation goes on from the messages that the caller sends.",
		fields: []field[Held]{
			number(row{Key: "max", Default: "256", Doc: "Runs at one time. Beyond it the one that has waited longest is let go."}, 1, 100_000, func(h *Held, v int64, _ Pos) { h.Max = int(v) }),
			seconds(row{Key: "seconds", Default: "600", Doc: "How long one waits."}, 1, 86400, func(h *Held) *time.Duration { return &h.Time }),
		},
	}
}

func runLimitsSection() section[turn.Limits] {
	d := defaultServe().Limits
	return section[turn.Limits]{
		path:  "serve.limits",
		intro: "What one request to an agent may take. At a limit it ends as an answer that was cut for its length.",
		fields: []field[turn.Limits]{
			number(row{Key: "rounds", Default: fmt.Sprint(d.Rounds), Doc: "Requests to the model."}, 1, turn.MaxRounds, func(l *turn.Limits, v int64, _ Pos) { l.Rounds = int(v) }),
			number(row{Key: "calls", Default: fmt.Sprint(d.Calls), Doc: "Tool calls of the model; those inside a code body are bounded there."}, 1, turn.MaxCalls, func(l *turn.Limits, v int64, _ Pos) { l.Calls = int(v) }),
			seconds(row{Key: "wallSeconds", Default: fmt.Sprint(d.Time.Seconds()), Doc: "Time in all, without the time a run waits for its caller."}, 1, int64(turn.MaxTime/time.Second), func(l *turn.Limits) *time.Duration { return &l.Time }),
			number(row{Key: "tokens", Default: strconv.Itoa(d.Tokens), Doc: "Tokens read and written, of all rounds."}, 1000, turn.MaxTokens, func(l *turn.Limits, v int64, _ Pos) { l.Tokens = int(v) }),
		},
	}
}

func serveKeySection() section[ServeKey] {
	return section[ServeKey]{
		path: "serve.keys[]",
		intro: "One caller. It sends its key as `Authorization: Bearer KEY`, or as `x-api-key`. " +
			"Give `sha256` (`printf %s \"$KEY\" | sha256sum`), or `key` by reference.",
		fields: []field[ServeKey]{
			{row{Key: "name", Type: "string", Bounds: "1–64 letters, digits, `_`, `-`, `.`", Doc: "Who calls, for approvals, records and logs. Required; no two keys share one."},
				func(r *reader, s spot, k *ServeKey) {
					if v, ok := r.text(s); ok && !hook.ValidName(v) { // keys are named as hooks are
						r.fault(r.at(s), s.path, "no name of a key", "a name is 1 to 64 letters, digits, '_', '-' and '.'")
					} else if ok {
						k.Name = v
					}
				}},
			{row{Key: "sha256", Type: "string", Bounds: "64 hexadecimal digits", Doc: "The SHA-256 of the key."},
				func(r *reader, s spot, k *ServeKey) {
					v, ok := r.text(s)
					if sum, err := hex.DecodeString(v); ok && (err != nil || len(sum) != sha256.Size) {
						r.fault(r.at(s), s.path, "expected 64 hexadecimal digits", `printf %s "$KEY" | sha256sum prints them`)
					} else if ok {
						k.SHA256 = strings.ToLower(v)
					}
				}},
			{row{Key: "key", Type: "string", Doc: fmt.Sprintf("The key by reference, such as `\"${TOOLSEARCH_KEY}\"`; at least %d bytes once resolved.", minKeyBytes)},
				func(r *reader, s spot, k *ServeKey) { k.Key = r.secret(s) }},
			{row{Key: "agent", Type: "string", Doc: "The agent whose settings this caller has. Absent: the server's."}, func(r *reader, s spot, k *ServeKey) { k.Agent = r.name(s) }},
			flag(row{Key: "nativeToolSearch", Default: "`false`", Doc: "The caller searches tools itself: it gets the tools, and none of our controls."},
				func(k *ServeKey, v bool) { k.NativeToolSearch = v }),
			{row{Key: "sender", Type: "string", Doc: "The entry of `tools.toolsBySender` whose rules hold for this caller."}, func(r *reader, s spot, k *ServeKey) { k.Sender = r.name(s) }},
			{row{Key: "group", Type: "string", Doc: "The entry of `tools.toolsByGroup` whose rules hold for this caller."}, func(r *reader, s spot, k *ServeKey) { k.Group = r.name(s) }},
			flag(row{Key: "sandbox", Default: "`false`", Doc: "This caller is confined to a sandbox: the rules of `tools.sandbox.tools` hold."}, func(k *ServeKey, v bool) { k.Sandbox = v }),
			flag(row{Key: "subagent", Default: "`false`", Doc: "This caller is an agent that another one started: the rules of `tools.subagents.tools` hold."}, func(k *ServeKey, v bool) { k.Subagent = v }),
			flag(row{Key: "metrics", Default: "`false`", Doc: "This caller may read `/metrics`, which names the tools that are called, its own and those that it is denied."}, func(k *ServeKey, v bool) { k.Metrics = v }),
		},
	}
}

// name reads a text that has the form of a name.
func (r *reader) name(s spot) string {
	v, ok := r.text(s)
	if problem := badName(v); ok && problem != "" {
		r.fault(r.at(s), s.path, problem, "")
	}
	return v
}

func readServeKeys(r *reader, s spot, into *Serve) {
	r.elems(s, maxKeys, func(e spot) {
		k := ServeKey{Pos: r.at(e)}
		before := len(r.errs)
		sec := serveKeySection()
		sec.read(r, e, &k)
		if e.node.Kind != json5.Object || len(r.errs) > before {
			return
		}
		has := func(key string) bool { return e.node.Member(key) != nil }
		switch {
		case !has("name"):
			r.fault(k.Pos, e.path, "has no name", `such as name: "laptop"`)
		case has("sha256") == has("key"):
			r.fault(k.Pos, e.path, "needs either sha256 or key", `such as key: "${TOOLSEARCH_KEY}"`)
		case has("key") && k.Key.Raw == "":
			r.fault(k.Pos, e.path.Child("key"), "an empty key opens the server to anybody", "")
		}
		for _, o := range into.Keys {
			if o.Name == k.Name && k.Name != "" {
				r.fault(k.Pos, e.path, fmt.Sprintf("the key %s stands twice, first at %d:%d", clip(k.Name), o.Pos.Line, o.Pos.Column), "give each key its own name")
			}
		}
		into.Keys = append(into.Keys, k)
	})
}

// Sum is the SHA-256 of a key, whose variables are filled in as lookup has them
// now. An error never holds the key.
func (k *ServeKey) Sum(lookup func(string) (string, bool)) ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	if k.SHA256 != "" {
		if _, err := hex.Decode(sum[:], []byte(k.SHA256)); err != nil {
			return sum, fmt.Errorf("read the sha256 of key %q: %w", k.Name, err)
		}
		return sum, nil
	}
	e := &expander{lookup: lookup}
	key := e.text(k.Key)
	if len(e.errs) == 0 && len(key) < minKeyBytes {
		e.fail(k.Key, fmt.Sprintf("the key has fewer than %d bytes", minKeyBytes), "openssl rand -hex 32 prints a good one")
	}
	if len(e.errs) > 0 {
		return sum, fmt.Errorf("resolve key %q: %w", k.Name, errors.Join(e.errs...))
	}
	return sha256.Sum256([]byte(key)), nil
}
