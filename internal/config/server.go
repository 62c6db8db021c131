package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/toolsearch/toolsearch/internal/json5"
	"github.com/toolsearch/toolsearch/internal/variables"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a child process
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // the older HTTP with server-sent events
)

// Server is one entry of mcp.servers. Exactly one of Command and URL is given.
// Texts may hold references to variables; Resolve expands them.
type Server struct {
	Name         string
	Pos          Pos // of the name
	Enabled      bool
	Transport    Transport
	Command      Text
	Args         []Text
	Env          []NamedText
	Cwd          Text
	URL          Text
	Headers      []NamedText
	StartTimeout time.Duration
	CallTimeout  time.Duration
	TrustSchemas bool
	Include      []Rule // only these tools of the server; empty: all
	Exclude      []Rule // never these
}

// Text is a text as the file has it, variables unexpanded.
type Text struct {
	Raw string
	Pos Pos
	Key string // such as mcp.servers.github.env.TOKEN
}

// NamedText is one environment variable or header.
type NamedText struct {
	Name string
	Text
}

// Downloads reports whether the command is one that downloads the server when it
// is not there yet, so that a first start takes long.
func (s *Server) Downloads() bool {
	name := strings.ToLower(s.Command.Raw[strings.LastIndexAny(s.Command.Raw, `/\`)+1:])
	switch strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".exe") {
	case "npx", "uvx", "bunx":
		return true
	}
	return false
}

// serverBlock is a server as written, with what is checked across fields.
type serverBlock struct {
	Server
	hint    Transport // from type or transport
	hintAt  spot
	aliased map[string]bool // fields that were given under our own name
}

const (
	defaultStart = 30000
	// defaultFetch is defaultStart of a command that downloads the server first.
	defaultFetch = 120000
	defaultCall  = 60000
	minTimeout   = 100
	maxTimeout   = 3600000
	maxName      = 128
)

func serverSection() section[serverBlock] {
	set := func(b *serverBlock, own string, put func()) {
		// An openclaw.json's name for a field gives way to ours.
		if key, isAlias := strings.CutPrefix(own, "~"); isAlias && b.aliased[key] {
			return
		} else if !isAlias {
			b.aliased[own] = true
		}
		put()
	}
	timeout := func(key, own, doc string, def int, of func(*serverBlock) *time.Duration) field[serverBlock] {
		return number(row{Key: key, Default: fmt.Sprint(def), Doc: doc}, minTimeout, maxTimeout, func(b *serverBlock, v int64, _ Pos) {
			set(b, own, func() { *of(b) = time.Duration(v) * time.Millisecond })
		})
	}
	cwd := func(key, own, doc string) field[serverBlock] {
		return field[serverBlock]{row{Key: key, Type: "string", Doc: doc}, func(r *reader, s spot, b *serverBlock) {
			if t, ok := r.reference(s); ok {
				set(b, own, func() { b.Cwd = t })
			}
		}}
	}
	start := func(b *serverBlock) *time.Duration { return &b.StartTimeout }
	call := func(b *serverBlock) *time.Duration { return &b.CallTimeout }
	return section[serverBlock]{
		path: "mcp.servers.<name>",
		intro: "One MCP server: `command` for a child process or `url` for a remote one, never both. " +
			"`${VAR}` and `${VAR:-default}` are allowed in `command`, `args`, `env`, `cwd`, `url` and `headers`; they are resolved when the server starts and never written back. `$${` stands for a literal `${`.",
		fields: []field[serverBlock]{
			{row{Key: "command", Type: "string", Doc: "The program to start. One with a `/` in it is relative to `cwd`, and without that to the folder that Toolsearch was started in; any other is looked up in `PATH`."}, func(r *reader, s spot, b *serverBlock) { b.Command, _ = r.reference(s) }},
			{row{Key: "args", Type: "array of strings", Doc: "Its arguments."}, func(r *reader, s spot, b *serverBlock) { b.Args = r.texts(s) }},
			{row{Key: "env", Type: "object of strings", Doc: "Variables added to its environment. Numbers and booleans are taken as text."},
				func(r *reader, s spot, b *serverBlock) { b.Env = r.references(s, badEnvName) }},
			cwd("cwd", "cwd", "The folder it starts in; relative to the folder of this file. `~/` is the user's home."),
			{row{Key: "url", Type: "string", Doc: "The address of a remote server, `http` or `https`."}, func(r *reader, s spot, b *serverBlock) { b.URL, _ = r.reference(s) }},
			{row{Key: "headers", Type: "object of strings", Doc: "HTTP headers sent with every request."},
				func(r *reader, s spot, b *serverBlock) { b.Headers = r.references(s, badHeaderName) }},
			flag(row{Key: "enabled", Default: "`true`", Doc: "`false` keeps the entry but does not use the server."}, func(b *serverBlock, v bool) { b.Enabled = v }),
			timeout("startTimeoutMs", "start", "How long the server may take to start and list its tools, in milliseconds. Default 120000 where `command` is `npx`, `uvx` or `bunx`, which download it first.", defaultStart, start),
			timeout("callTimeoutMs", "call", "How long one call may take, in milliseconds.", defaultCall, call),
			flag(row{Key: "trustSchemas", Default: "`false`", Doc: "Read the schemas of this server's tools for search and signatures, as those of installed plugins."}, func(b *serverBlock, v bool) { b.TrustSchemas = v }),
			part(row{Key: "toolFilter", Doc: "`include`: only these tools of the server; `exclude`: never these. Names or `*` globs."}, filterSection(), func(b *serverBlock) *Server { return &b.Server }),
			transport("type"), transport("transport"),
			cwd("workingDirectory", "~cwd", "Another name for `cwd`."),
			timeout("connectionTimeoutMs", "~start", "Another name for `startTimeoutMs`.", defaultStart, start),
			timeout("requestTimeoutMs", "~call", "Another name for `callTimeoutMs`.", defaultCall, call),
		},
		foreign: []string{"auth", "oauth", "sslVerify", "clientCert", "clientKey", "codex", "supportsParallelToolCalls", "description"},
		moved:   map[string]string{"disabled": "write enabled: false", "timeout": "write callTimeoutMs", "httpUrl": "write url"},
	}
}

func filterSection() section[Server] {
	return section[Server]{fields: []field[Server]{
		patterns("include", "", func(s *Server) *[]Rule { return &s.Include }),
		patterns("exclude", "", func(s *Server) *[]Rule { return &s.Exclude }),
	}}
}

// transport is the hint that other programs' files carry.
func transport(key string) field[serverBlock] {
	f := choice(row{Key: key, Default: "from `command` or `url`", Doc: "How to reach it. Needed only for `sse`."},
		[]string{"stdio", "http", "streamable-http", "sse"}, func(*serverBlock, string, Pos) {})
	read := f.read
	f.read = func(r *reader, s spot, b *serverBlock) {
		read(r, s, b)
		b.hintAt = s
		switch s.node.Str() {
		case "stdio":
			b.hint = Stdio
		case "http", "streamable-http":
			b.hint = HTTP
		case "sse":
			b.hint = SSE
		}
	}
	return f
}

// reference reads a text that may hold variables, and warns of malformed ones.
func (r *reader) reference(s spot) (Text, bool) {
	v, ok := r.text(s)
	if !ok {
		return Text{}, false
	}
	return r.checked(v, s), true
}

func (r *reader) checked(raw string, s spot) Text {
	t := Text{Raw: raw, Pos: r.at(s), Key: s.path.String()}
	if _, err := variables.Expand(raw, func(string) (string, bool) { return "", true }); err != nil {
		r.warn(t.Pos, s.path, err.Error()+"; what uses it will not start")
	}
	return t
}

// texts reads a list of texts that may hold variables.
func (r *reader) texts(s spot) (all []Text) {
	if !r.array(s) {
		return nil
	}
	for i := range s.node.Elems {
		if t, ok := r.reference(s.elem(i)); ok {
			all = append(all, t)
		}
	}
	return all
}

// references reads an object of texts. Numbers and booleans are taken as they
// are written.
func (r *reader) references(s spot, bad func(string) string) (all []NamedText) {
	if !r.object(s) {
		return nil
	}
	for _, m := range s.node.Members {
		e := s.member(m)
		if problem := bad(m.Key); problem != "" {
			// A whole "Authorization: Bearer …" may stand there, or NAME=value.
			if end := strings.IndexAny(m.Key, ":= "); end >= 0 {
				e.path = s.path.Child(m.Key[:end+1] + "…")
			}
			r.fault(r.pos(m.KeyStart), e.path, problem, "")
			continue
		}
		switch m.Value.Kind {
		case json5.String, json5.Number, json5.Bool:
			raw := m.Value.Str()
			if m.Value.Kind != json5.String {
				raw = r.doc.Text(m.Value)
			}
			all = append(all, NamedText{m.Key, r.checked(raw, e)})
		default:
			r.wrong(e, "a string")
		}
	}
	return all
}

func badEnvName(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "a variable's name may not be empty or hold '=' or NUL"
	}
	return ""
}

func badHeaderName(name string) string {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7F || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return "not a header's name"
		}
	}
	if name == "" {
		return "not a header's name"
	}
	return ""
}

// badName checks the name of a server, provider or sender.
func badName(name string) string {
	if strings.TrimSpace(name) != name || name == "" || len(name) > maxName {
		return fmt.Sprintf("a name has 1–%d bytes and no space at its ends", maxName)
	}
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return "a name may not hold control or invisible characters"
		}
	}
	return ""
}

func readServers(r *reader, s spot, into *MCP) {
	r.each(s, func(name string, s spot, pos Pos) {
		if strings.Contains(name, ":") {
			// The ids of tools could mean two: server a:b with tool c, and a with b:c.
			r.fault(pos, s.path, "the name of a server has no colon, since colons part the ids of its tools", "write another sign")
			return
		}
		b := serverBlock{aliased: map[string]bool{}}
		b.Name, b.Pos, b.Enabled = name, pos, true
		b.CallTimeout = defaultCall * time.Millisecond
		sec := serverSection()
		before := len(r.errs)
		sec.read(r, s, &b)
		if b.StartTimeout == 0 { // nothing was given: what is given is at least minTimeout
			b.StartTimeout = defaultStart * time.Millisecond
			if b.Downloads() {
				b.StartTimeout = defaultFetch * time.Millisecond
			}
		}
		if s.node.Kind == json5.Object {
			r.reach(s, &b, len(r.errs) > before)
		}
		into.Servers = append(into.Servers, b.Server)
	})
}

// reach checks that a server says in exactly one way how to reach it. Of a
// faulty one nothing is said to be missing: its key may be the misspelt one.
func (r *reader) reach(s spot, b *serverBlock, faulty bool) {
	command, address := s.node.Member("command"), s.node.Member("url")
	switch {
	case command != nil && address != nil:
		r.fault(b.Pos, s.path, "has both command and url", "keep the one that reaches the server")
	case command == nil && address == nil && faulty:
		return
	case command == nil && address == nil:
		r.fault(b.Pos, s.path, "has neither command nor url", `give command: "PROGRAM" for a child process, or url: "https://…"`)
	case command != nil:
		b.Transport = Stdio
		if command.Kind == json5.String && strings.TrimSpace(b.Command.Raw) == "" {
			r.fault(b.Command.Pos, s.path.Child("command"), "expected a program, found an empty string", "")
		}
	default:
		b.Transport = HTTP
		if address.Kind == json5.String && !strings.Contains(b.URL.Raw, "${") {
			if problem := badURL(b.URL.Raw); problem != "" {
				r.fault(b.URL.Pos, s.path.Child("url"), problem, "")
			}
		}
	}
	if b.hint == "" || b.Transport == "" {
		return
	}
	if (b.hint == Stdio) != (b.Transport == Stdio) {
		need := "url"
		if b.hint == Stdio {
			need = "command"
		}
		r.fault(r.at(b.hintAt), b.hintAt.path, fmt.Sprintf("%q needs %s, which is not given", b.hintAt.node.Str(), need), "remove this line, or give "+need)
		return
	}
	b.Transport = b.hint
}

// badURL never quotes the address: it may hold a secret.
func badURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "":
		return "expected an address such as https://example.com:8080/path"
	case u.Scheme != "http" && u.Scheme != "https":
		return "expected an address that begins with http:// or https://"
	}
	return ""
}
