// Package mcp is the client side of the Model Context Protocol: it keeps one
// connection to each configured server, over stdio or streamable HTTP and in
// both eras of the protocol, and offers the servers' tools as tool.Tool values.
//
// # What a Manager promises
//
//  1. Bytes stay bytes. A tool's definition and a call's result are handed on
//     exactly as the server sent them: unknown fields and content types, key
//     order and integers beyond 2^53 survive.
//  2. It answers at once. Start returns immediately, and the last known lists
//     on disk are published, marked stale, before any server has answered.
//  3. One server never harms another. Each has its own process group, timeouts,
//     bounds and breaker; a failure is a Status, not an error of the Manager.
//  4. Lists are swapped atomically. A Snapshot never changes once taken.
//  5. Nothing is left behind. After Close no process of a server's group, no
//     goroutine and no descriptor remains.
//
// Everything that a server sends is hostile: sizes, counts and times are
// bounded, and texts are cleaned before they are shown. Servers are offered no
// capability: requests for sampling, elicitation or roots are declined.
package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// Server configures one MCP server: either a Command to run and speak to over
// its standard streams, or the URL of a streamable HTTP endpoint.
type Server struct {
	Name     string // unique, the owner of its tools; without a colon
	Called   string // what errors call it; "" = MCP server "NAME"
	Disabled bool   // listed in Status, never started
	// Unusable says why the server cannot be started as it is configured, such as
	// a variable that is not set. It is Failed from the beginning; the others run.
	Unusable string

	Command string
	Args    []string
	Env     []string // KEY=VALUE, added to the minimal environment a server gets
	Dir     string   // working directory, "" = ours

	URL     string            // http or https
	Headers map[string]string // sent to the URL's own origin only

	StartTimeout time.Duration // connect and first list; 0 = 30 s
	CallTimeout  time.Duration // one call, waiting for the start included; 0 = 60 s

	// TrustSchemas lets search walk this server's schemas.
	TrustSchemas bool
}

func (s *Server) called() string {
	if s.Called != "" {
		return s.Called
	}
	return fmt.Sprintf("MCP server %q", s.Name)
}

// Options configures a Manager. The zero value is ready to use; a zero bound
// means its default, never "unlimited".
type Options struct {
	CacheDir string // folder of the last known lists, "" = none are kept
	Logger   *slog.Logger

	ClientName, ClientVersion string // how we introduce ourselves

	MaxMessageBytes int // one message of a server; 0 = 16 MiB
	MaxTools        int // tools of one server; 0 = 20,000
	MaxListBytes    int // definitions of one server; 0 = 64 MiB
	MaxPages        int // pages of one tools/list; 0 = 2,000

	// ProbePatience is how long a server may take to answer the probe of the
	// newer era before it is taken for one of the older: some of those ignore
	// requests that come before initialize. 0 = 5 s.
	ProbePatience time.Duration

	Debounce    time.Duration // how long list changes are gathered; 0 = 100 ms
	StopGrace   time.Duration // each step of closing stdin, SIGTERM, SIGKILL; 0 = 1 s
	RetryMin    time.Duration // pause after the first failed start, doubled each time; 0 = 1 s
	RetryMax    time.Duration // longest pause, and the cool-down of an open breaker; 0 = 1 min
	MaxRetries  int           // restarts in a row before only a call tries again; 0 = 5
	StableAfter time.Duration // a connection that lived this long resets the count; 0 = 10 s
}

const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 60 * time.Second
)

// orDefault returns v, or def where v is not positive.
func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ClientName == "" {
		o.ClientName = "toolsearch"
	}
	if o.ClientVersion == "" {
		o.ClientVersion = "0.0.0"
	}
	o.MaxMessageBytes = orDefault(o.MaxMessageBytes, 16<<20)
	o.MaxTools = orDefault(o.MaxTools, 20_000)
	o.MaxListBytes = orDefault(o.MaxListBytes, 64<<20)
	o.MaxPages = orDefault(o.MaxPages, 2_000)
	o.ProbePatience = orDefault(o.ProbePatience, 5*time.Second)
	o.Debounce = orDefault(o.Debounce, 100*time.Millisecond)
	o.StopGrace = orDefault(o.StopGrace, time.Second)
	o.RetryMin = orDefault(o.RetryMin, time.Second)
	o.RetryMax = max(orDefault(o.RetryMax, time.Minute), o.RetryMin)
	o.MaxRetries = orDefault(o.MaxRetries, 5)
	o.StableAfter = orDefault(o.StableAfter, 10*time.Second)
	return o
}

// validate reports what is wrong with a configuration, without touching the
// network or the file system.
func (s *Server) validate() error {
	if strings.TrimSpace(s.Name) == "" {
		return errors.New("MCP server: the name is empty")
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", s.called(), fmt.Errorf(format, args...))
	}
	switch {
	case strings.Contains(s.Name, ":"): // the ids of two servers' tools could be one
		return fail("the name has a colon, which parts the ids of tools; write another sign")
	case s.Unusable != "":
		return nil
	case s.Command == "" && s.URL == "":
		return fail("neither a command nor a url is given; give one of them")
	case s.Command != "" && s.URL != "":
		return fail("both a command and a url are given; give one of them")
	}
	for _, kv := range s.Env {
		if key, _, ok := strings.Cut(kv, "="); !ok || key == "" {
			return fail("environment entry %q is not KEY=VALUE", key)
		}
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return fail("the url cannot be parsed: %w", withoutURL(err))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fail("the url must begin with http:// or https:// and name a host")
	}
	for name := range s.Headers {
		if reservedHeader(name) {
			return fail("header %q belongs to the protocol and cannot be set", name)
		}
	}
	return nil
}

// reservedHeader reports the headers that the protocol itself sets.
func reservedHeader(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	switch name {
	case "", "Accept", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Host", "Last-Event-Id":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// withoutURL drops the address that net/url and net/http put into errors,
// since it may carry a secret.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// sameOrigin reports whether two addresses share scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// setHeaders puts the configured headers onto a request of ours.
func setHeaders(h http.Header, extra map[string]string) {
	for name, value := range extra {
		h.Set(name, value)
	}
}
