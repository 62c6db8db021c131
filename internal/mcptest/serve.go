package mcptest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// peer is the server side of one scripted connection. It writes raw lines, so
// that it can break every rule.
type peer struct {
	script *Script

	outMu sync.Mutex
	out   *bufio.Writer

	mu      sync.Mutex
	heard   []message // everything received, in order
	news    chan struct{}
	tools   []json.RawMessage
	listens []json.RawMessage // ids of open subscriptions
	asked   int
}

func serve(s *Script) {
	if s.StubbornExit {
		signal.Ignore(syscall.SIGTERM)
	}
	if s.Stderr != "" {
		fmt.Fprintln(os.Stderr, s.Stderr)
	}
	p := &peer{script: s, out: bufio.NewWriterSize(os.Stdout, 64<<10), news: make(chan struct{}), tools: s.Tools}
	for i := range s.Generate {
		p.tools = append(p.tools, json.RawMessage(fmt.Sprintf(`{"name":"gen_%d","description":"Generated tool %d.","inputSchema":{"type":"object"}}`, i, i)))
	}
	if s.ToolsFile != "" {
		raw, err := os.ReadFile(s.ToolsFile)
		if err != nil {
			fmt.Fprintln(os.Stderr, "mcptest: read tools:", err)
			os.Exit(2)
		}
		p.tools = append(p.tools, raw)
	}
	mode := s.Start
	if s.Once != "" {
		if f, err := os.OpenFile(s.Once, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			mode = StartNormal
		} else {
			_ = f.Close()
		}
	}
	p.begin(mode)
	p.loop(mode)
	if s.StubbornExit {
		sleepForever()
	}
}

// begin does what comes before serving.
func (p *peer) begin(mode StartMode) {
	switch mode {
	case StartGarbage:
		for {
			if _, err := fmt.Println("Welcome to the \x1b[31mgarbage\x1b[0m server, this is no JSON"); err != nil {
				os.Exit(1)
			}
		}
	case StartBanner:
		fmt.Println(cmp.Or(p.script.Banner, "Server listening on stdio"))
	case StartSilent:
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case StartExit:
		os.Exit(3)
	case StartHuge:
		writeHuge(os.Stdout)
	case StartGated:
		conn, err := net.Dial("tcp", p.script.Gate)
		if err != nil {
			os.Exit(4)
		}
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_ = conn.Close()
	case StartFlood:
		line := strings.Repeat("stderr flood ", 80) + "\n"
		for range 20_000 { // 20 MB, far beyond any pipe
			_, _ = os.Stderr.WriteString(line)
		}
	}
}

// writeHuge sends one message of about 100 MB.
func writeHuge(w io.Writer) {
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"filler":"`)
	chunk := []byte(strings.Repeat("x", 1<<20))
	for range 100 {
		if _, err := w.Write(chunk); err != nil {
			os.Exit(1)
		}
	}
	_, _ = io.WriteString(w, "\"}}\n")
}

func (p *peer) loop(mode StartMode) {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		p.mu.Lock()
		p.heard = append(p.heard, m)
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
		if m.Method == "server/discover" {
			switch mode {
			case StartNoProbe:
				continue
			case StartProbeDies:
				os.Exit(5)
			}
		}
		if m.Method != "" && m.ID != nil {
			p.request(m)
		}
		if p.script.Deaf && m.Method == "tools/list" {
			sleepForever()
		}
	}
}

func (p *peer) send(line string) {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	_, _ = p.out.WriteString(line)
	_ = p.out.WriteByte('\n')
	if p.out.Flush() != nil {
		os.Exit(1)
	}
}

func (p *peer) reply(id json.RawMessage, result string) {
	p.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (p *peer) refuse(id json.RawMessage, code int, text string) {
	quoted, _ := json.Marshal(text) // a string always marshals
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted))
}

func (p *peer) request(m message) {
	name := p.script.Name
	if name == "" {
		name = "scripted"
	}
	info := fmt.Sprintf(`{"name":%q,"version":"1.2.3"}`, name)
	switch m.Method {
	case "initialize":
		if p.script.Modern {
			p.refuse(m.ID, -32601, "no initialize in this era")
			return
		}
		p.reply(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":`+info+`}`)
	case "server/discover":
		if !p.script.Modern {
			p.refuse(m.ID, -32601, "Method not found")
			return
		}
		p.reply(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":`+info+`}}`)
	case "subscriptions/listen":
		p.mu.Lock()
		p.listens = append(p.listens, m.ID)
		p.mu.Unlock()
		p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true}}}`)
	case "tools/list":
		p.list(m)
	case "tools/call":
		p.call(m)
	case "ping":
		p.reply(m.ID, `{}`)
	default:
		p.refuse(m.ID, -32601, "Method not found")
	}
}

func (p *peer) list(m message) {
	var params struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &params)
	switch p.script.List {
	case ListHangs:
		return
	case ListError:
		p.refuse(m.ID, -32603, cmp.Or(p.script.ListRefusal, "the list is broken"))
		return
	case ListDies:
		os.Exit(6)
	case ListRepeatCursor:
		p.reply(m.ID, `{"tools":`+join(p.tools)+`,"nextCursor":"again"}`)
		return
	case ListEndless:
		n, _ := strconv.Atoi(params.Cursor)
		p.reply(m.ID, fmt.Sprintf(`{"tools":[{"name":"page_%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, n+1))
		return
	}
	p.mu.Lock()
	tools := p.tools
	p.mu.Unlock()
	from, _ := strconv.Atoi(params.Cursor)
	to := len(tools)
	if p.script.PageSize > 0 {
		to = min(from+p.script.PageSize, len(tools))
	}
	next := ""
	if to < len(tools) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	p.reply(m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":`+join(tools[from:to])+next+`}`)
}

func join(list []json.RawMessage) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, raw := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.String()
}

// hold dials addr and keeps the connection until this process dies.
func hold(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, conn)
	sleepForever()
}

// spawn starts a grandchild that holds a connection to addr.
func spawn(addr string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, grandchildArg, addr)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // as careless servers do
	return cmd.Start()
}

// sleepForever blocks until the process is killed. An empty select would not
// do: without cgo the runtime sees that nothing can wake it, and panics.
func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}
