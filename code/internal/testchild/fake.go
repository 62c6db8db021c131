package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/code/internal/lockdown"
	"github.com/toolsearch/toolsearch/code/internal/wire"
)

// fake is a child that does not keep to the protocol.
type fake struct {
	in, out *os.File
	id      uint32
}

func (f *fake) send(typ wire.Type, payload string) {
	f.id++
	f.raw(typ, f.id, payload)
}

func (f *fake) raw(typ wire.Type, id uint32, payload string) {
	_ = wire.Write(f.out, wire.Frame{Type: typ, ID: id, Payload: []byte(payload)})
}

func (f *fake) header(length uint32, typ wire.Type, id uint32) {
	var head [12]byte
	binary.LittleEndian.PutUint32(head[0:], length)
	binary.LittleEndian.PutUint32(head[4:], uint32(typ))
	binary.LittleEndian.PutUint32(head[8:], id)
	_, _ = f.out.Write(head[:])
}

func (f *fake) ready(protocol int, confined bool) {
	var layers []wire.Layer
	for _, name := range lockdown.Required() {
		layers = append(layers, wire.Layer{Name: name, On: confined})
	}
	raw, _ := json.Marshal(wire.ReadyMessage{Protocol: protocol, Engine: "fake", Layers: layers})
	f.send(wire.Ready, string(raw))
}

// wait reads until the runner gives up.
func (f *fake) wait() { _, _ = io.Copy(io.Discard, f.in) }

func misbehave(how string) {
	f := &fake{}
	f.in, f.out = wire.ChildFiles()
	switch how {
	case "exit":
		return
	case "noise":
		_, _ = f.out.WriteString("Welcome to the shell\n$ ")
		f.wait()
	case "version":
		f.ready(99, true)
		f.wait()
	case "unconfined":
		f.ready(wire.Version, false)
		f.wait()
	case "notready":
		f.send(wire.Started, "")
		f.wait()
	}
	f.ready(wire.Version, true)
	if how == "early" {
		f.send(wire.Started, "")
		f.wait()
	}
	if how == "idle-crash" {
		os.Exit(1)
	}
	if _, err := wire.Read(f.in, wire.MaxToChild); err != nil {
		return
	}
	if how == "crash-before-start" {
		os.Exit(1)
	}
	if how == "call-before-start" {
		f.send(wire.Call, `["x",{}]`)
		f.wait()
	}
	f.send(wire.Started, "")
	f.after(how)
	f.wait()
}

// after is what happens once the child has said that it has the code.
func (f *fake) after(how string) {
	switch how {
	case "huge":
		f.header(0xFFFFFFFF, wire.Log, f.id+1)
	case "over":
		f.header(wire.MaxToParent+1, wire.Log, f.id+1)
	case "truncated":
		f.header(100, wire.Log, f.id+1)
		_, _ = f.out.WriteString(`{"level":"log"`)
		os.Exit(0)
	case "half-header":
		_, _ = f.out.Write([]byte{1, 2, 3})
		os.Exit(0)
	case "stalled":
		f.header(100, wire.Log, f.id+1)
	case "invalid-json":
		f.send(wire.Log, `{"level":"log","text":}`)
	case "deep-json":
		f.send(wire.Log, strings.Repeat("[", 1_000_000))
	case "unknown":
		f.send(99, "null")
	case "run-back":
		f.send(wire.Run, `{"code":"return 1"}`)
	case "replayed":
		f.send(wire.Search, `["a",null]`)
		f.raw(wire.Search, f.id, `["b",null]`)
	case "backwards":
		f.raw(wire.Search, 100, `["a",null]`)
		f.raw(wire.Search, 50, `["b",null]`)
	case "after-result":
		f.send(wire.Result, `{"value":1}`)
		f.send(wire.Call, `["x",{}]`)
	case "in-flight":
		f.send(wire.Call, `["x",{}]`)
		f.send(wire.Result, `{"value":1}`)
	case "flood":
		for range 5000 {
			f.send(wire.Call, `["x",{}]`)
		}
	case "no-id":
		f.send(wire.Call, `[{"id":1},{}]`)
	case "no-list":
		f.send(wire.Call, `{"id":"x"}`)
	case "started-twice":
		f.send(wire.Started, "")
	case "big-result":
		f.send(wire.Result, `{"value":"`+strings.Repeat("x", 1<<20)+`"}`)
	case "empty-result":
		f.send(wire.Result, `{}`)
	case "bad-level":
		f.send(wire.Log, `{"level":"exec","text":"x"}`)
	case "big-log":
		for range 3 {
			f.send(wire.Log, `{"level":"log","text":"`+strings.Repeat("x", 1<<20)+`"}`)
		}
		f.send(wire.Result, `{"value":1}`)
	case "requests":
		// What a body would do that makes 1,000 requests one after the other,
		// without an engine in between: for comparison in benchmarks.
		for range 1000 {
			f.send(wire.Search, `["x",null]`)
			if _, err := wire.Read(f.in, wire.MaxToChild); err != nil {
				return
			}
		}
		f.send(wire.Result, `{"value":null}`)
	case "deaf":
		for i := range 16 {
			f.send(wire.Search, fmt.Sprintf(`["%d",null]`, i))
		}
		time.Sleep(time.Hour) // never reads
	case "spills":
		fmt.Fprint(os.Stderr, strings.Repeat("secret ", 1<<20))
		os.Exit(7)
	case "memory":
		fmt.Fprint(os.Stderr, "fatal error: runtime: cannot allocate memory\n")
		os.Exit(2)
	}
}

// parent runs an endless body for every line that it reads and says when one
// runs. It waits to be killed.
func parent() {
	r, err := code.New(context.Background(), code.Options{Warm: -1, MaxChildren: 4, Limits: code.Limits{Timeout: time.Minute}})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		go func() {
			_, err := r.Run(context.Background(), `await openclaw.tools.search("started"); for (;;);`, announcer{})
			fmt.Println("ended:", err)
		}()
	}
}

type announcer struct{ code.Host }

func (announcer) Search(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	fmt.Println("running")
	return json.RawMessage("null"), nil
}

// echo answers every frame with itself, for comparison in benchmarks.
func echo() {
	in, out := wire.ChildFiles()
	for {
		f, err := wire.Read(in, wire.MaxToChild)
		if err != nil || wire.Write(out, f) != nil {
			return
		}
	}
}
