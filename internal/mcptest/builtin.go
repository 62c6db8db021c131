package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Builtin tools that every scripted server answers, listed or not.
const (
	ToolEcho     = "echo"     // {…} → structuredContent is the arguments, byte for byte
	ToolCrash    = "crash"    // ends the process without an answer
	ToolHang     = "hang"     // never answers
	ToolAwait    = "await"    // {"method":…,"tool":…} → answers once such a message has been received
	ToolEnv      = "env"      // → structuredContent {"env":[KEY=VALUE…]}
	ToolSpawn    = "spawn"    // {"dial":addr} → starts a grandchild that holds a connection to addr
	ToolProgress = "progress" // sends three progress notices, then answers
	ToolChange   = "change"   // {"add":name,"remove":name} → changes the list, announces it, then answers
	ToolNotices  = "notices"  // {"count":n} → sends n log notices and n list changes, then answers
	ToolHuge     = "huge"     // answers with a message of 100 MB
	ToolDeep     = "deep"     // answers with 5,000 nested arrays
	ToolAsk      = "ask"      // {"method":…} → asks the client and answers with what it said
	ToolBatch    = "batch"    // answers inside a JSON-RPC batch
	ToolRefuse   = "refuse"   // {"code":n,"message":…} → a JSON-RPC error with data
	ToolWeird    = "weird"    // an answer with unknown content types and fields
	ToolInput    = "input"    // asks for further input as the newer era does
	ToolNoise    = "noise"    // prints a line that is no JSON, then answers
	ToolLeak     = "leak"     // {"text":…} → prints text to stderr and ends the process
	ToolAskFlood = "askflood" // sends requests without end
)

// WeirdResult is what ToolWeird answers: integers beyond 2^53, an unknown
// content type, unknown fields, keys out of order, numbers in odd spellings.
const WeirdResult = `{"zeta":1,"content":[{"type":"hologram","voxels":[1.0,1e2],"n":9007199254740993},{"type":"text","text":"caf\u00e9 <&>","annotations":{"x":18446744073709551615}}],"structuredContent":{"z":12345678901234567890,"a":0.10,"m":{"y":1,"b":2}},"alpha":null,"_meta":{"vendor/x":9007199254740993}}`

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

type callArgs struct {
	Method  string `json:"method"`
	Tool    string `json:"tool"`
	Dial    string `json:"dial"`
	Add     string `json:"add"`
	Remove  string `json:"remove"`
	Count   int    `json:"count"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Text    string `json:"text"`
}

const done = `{"content":[{"type":"text","text":"done"}]}`

func (p *peer) call(m message) {
	var c callParams
	if err := json.Unmarshal(m.Params, &c); err != nil {
		p.refuse(m.ID, -32602, "bad params")
		return
	}
	if raw, ok := p.script.Results[c.Name]; ok {
		p.reply(m.ID, string(raw))
		return
	}
	var args callArgs
	_ = json.Unmarshal(c.Arguments, &args)
	if !p.callServer(m, c, args) && !p.callStream(m, c, args) {
		p.refuse(m.ID, -32602, "Unknown tool: "+c.Name)
	}
}

// callServer runs the tools that act on the server itself.
func (p *peer) callServer(m message, c callParams, args callArgs) bool {
	switch c.Name {
	case ToolCrash:
		os.Exit(7)
	case ToolLeak:
		fmt.Fprintln(os.Stderr, args.Text)
		os.Exit(8)
	case ToolHang:
	case ToolAwait:
		go func() {
			p.await(args)
			p.reply(m.ID, done)
		}()
	case ToolEnv:
		raw, _ := json.Marshal(os.Environ())
		p.reply(m.ID, `{"content":[],"structuredContent":{"env":`+string(raw)+`}}`)
	case ToolSpawn:
		if err := spawn(args.Dial); err != nil {
			p.refuse(m.ID, -32603, err.Error())
			return true
		}
		p.reply(m.ID, done)
	case ToolChange:
		p.change(args)
		p.reply(m.ID, done)
	default:
		return strings.HasPrefix(c.Name, "gen_") && p.echo(m, c)
	}
	return true
}

func (p *peer) echo(m message, c callParams) bool {
	text, _ := json.Marshal(c.Name + " " + string(c.Arguments))
	p.reply(m.ID, `{"content":[{"type":"text","text":`+string(text)+`}],"structuredContent":`+string(c.Arguments)+`}`)
	return true
}

// callStream runs the tools that misuse the stream.
func (p *peer) callStream(m message, c callParams, args callArgs) bool {
	switch c.Name {
	case ToolEcho:
		return p.echo(m, c)
	case ToolWeird:
		p.reply(m.ID, WeirdResult)
	case ToolProgress:
		for i := 1; i <= 3; i++ {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step %d"}}`, c.Meta.ProgressToken, i, i))
		}
		p.reply(m.ID, done)
	case ToolNotices:
		for range args.Count {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}`)
			p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		p.reply(m.ID, done)
	case ToolHuge:
		writeHuge(os.Stdout)
	case ToolDeep:
		p.reply(m.ID, `{"content":[],"structuredContent":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)
	case ToolBatch:
		p.send(`[{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + done + `}]`)
	case ToolRefuse:
		data := `{"n":9007199254740993}`
		if args.Text != "" {
			quoted, _ := json.Marshal(args.Text) // a string always marshals
			data = `{"said":` + string(quoted) + `}`
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, m.ID, args.Code, args.Message, data))
	case ToolInput:
		p.reply(m.ID, `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"s"}`)
	case ToolNoise:
		p.send("debug: something happened")
		p.reply(m.ID, done)
	case ToolAsk:
		go p.ask(m, args.Method)
	case ToolAskFlood:
		for i := 0; ; i++ {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"flood-%d","method":"ping"}`, i))
		}
	default:
		return false
	}
	return true
}

// await returns once a message of the method, and a call of the tool if one is
// named, has been received.
func (p *peer) await(args callArgs) {
	for {
		p.mu.Lock()
		news := p.news
		for _, h := range p.heard {
			var c callParams
			_ = json.Unmarshal(h.Params, &c)
			if h.Method == args.Method && (args.Tool == "" || c.Name == args.Tool) {
				p.mu.Unlock()
				return
			}
		}
		p.mu.Unlock()
		<-news
	}
}

// ask sends the client a request and answers the call with its reply.
func (p *peer) ask(m message, method string) {
	p.mu.Lock()
	p.asked++
	id := fmt.Sprintf(`"ask-%d"`, p.asked)
	p.mu.Unlock()
	p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"messages":[],"maxTokens":1,"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`)
	for {
		p.mu.Lock()
		news := p.news
		for _, h := range p.heard {
			if string(h.ID) == id && h.Method == "" {
				p.mu.Unlock()
				reply := `{"result":` + orNull(h.Result) + `,"error":` + orNull(h.Error) + `}`
				p.reply(m.ID, `{"content":[],"structuredContent":`+reply+`}`)
				return
			}
		}
		p.mu.Unlock()
		<-news
	}
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// change edits the list of tools and announces it as the era asks.
func (p *peer) change(args callArgs) {
	p.mu.Lock()
	var kept []json.RawMessage
	for _, raw := range p.tools {
		var head struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(raw, &head)
		if head.Name != args.Remove {
			kept = append(kept, raw)
		}
	}
	if args.Add != "" {
		kept = append(kept, json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, args.Add)))
	}
	p.tools = kept
	silent := p.script.Modern && len(p.listens) == 0 // nobody subscribed
	p.mu.Unlock()
	if !silent {
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
}
