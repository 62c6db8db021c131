package code_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsearch/toolsearch/code"
	"github.com/toolsearch/toolsearch/tool"
)

// hostileCases must all end in one of the stated kinds, or return want. None may
// take more than the run that it is. A loop ends by the deadline; a bomb by the
// memory limit in whichever way the engine notices it.
var (
	loops = []code.Kind{code.KindTimeout}
	bombs = []code.Kind{code.KindMemory, code.KindCrashed, code.KindThrown, code.KindTimeout}
)

var hostileCases = []struct {
	name, body string
	kinds      []code.Kind
	want       string
}{
	{"loop", `for (;;);`, loops, ""},
	{"loop after an await", `await null; for (;;);`, loops, ""},
	{"loop after a reply", `await openclaw.tools.search("x"); for (;;);`, loops, ""},
	{"loop in jobs", `const f = () => Promise.resolve().then(f); await f()`, append(slices.Clone(bombs), loops...), ""},
	{"loop in async recursion", `async function f() { await null; return f() } await f()`, append(slices.Clone(bombs), loops...), ""},
	{"loop in jobs that nobody awaits", `(async () => { for (;;) await null })(); return 1`, loops, ""},
	{"loop in an async generator", `async function* g() { for (;;) yield 1 } for await (const x of g());`, loops, ""},
	{"loop in a regular expression", `/^(a+)+$/.test("a".repeat(40) + "b")`, append([]code.Kind{code.KindThrown, code.KindStuck}, loops...), ""},
	{"loop in a native join", `const a = []; a.length = 2 ** 32 - 1; a.join(",")`, append(slices.Clone(bombs), loops...), ""},
	{"loop in a native sort", `const a = Array(3e5).fill(0).map((_, i) => i * 7919 % 300007); for (;;) a.sort((x, y) => x - y || 1)`, append(slices.Clone(bombs), loops...), ""},
	{"loop in a getter while it is returned", `return {get x() { for (;;); }}`, loops, ""},
	{"loop in toJSON of arguments", `await openclaw.tools.call("x", {toJSON() { for (;;); }})`, loops, ""},
	{"loop in a then", `return {then() { for (;;); }}`, loops, ""},
	{"endless iterator", `return [...{[Symbol.iterator]: () => ({next: () => ({value: 1})})}]`, append(slices.Clone(bombs), loops...), ""},

	{"bomb of arrays", `const a = []; for (;;) a.push(new Array(1000).fill(a.length))`, bombs, ""},
	{"bomb of strings", `let s = "x"; const a = []; for (let i = 0;; i++) a.push("x".repeat(1e6) + i)`, bombs, ""},
	{"bomb of one string", `return "x".repeat(2 ** 40)`, bombs, ""},
	{"bomb of maps", `const m = new Map(); for (let i = 0;; i++) m.set({}, {i})`, bombs, ""},
	{"bomb of closures", `const a = []; for (;;) a.push((x => () => x)(new Array(100)))`, bombs, ""},
	{"bomb of typed arrays", `const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))`, bombs, ""},
	{"bomb of a caught bomb", `const a = []; for (;;) { try { for (;;) a.push(new Array(1e5).fill(1)) } catch {} }`, bombs, ""},
	{"bomb of promises", `const a = []; for (;;) a.push(new Promise(() => {}))`, bombs, ""},
	{"log line of 20 MB", `console.log("x".repeat(2e7)); return 1`, append([]code.Kind{}, bombs...), `1`},
	{"result of 20 MB", `return "x".repeat(2e7).length`, nil, `20000000`},

	{"deep recursion", `const f = () => f() + 1; return f()`, []code.Kind{code.KindThrown, code.KindMemory}, ""},
	{"deep recursion is caught", `const f = () => f() + 1; try { return f() } catch (e) { return e instanceof Error }`, []code.Kind{code.KindMemory}, `true`},
	{"deep recursion into the bridge", `const f = () => { try { f() } finally { console.log("x"); openclaw.tools.search("x") } }; try { f() } catch (e) { return e instanceof Error }`, []code.Kind{code.KindMemory, code.KindThrown, code.KindTimeout, code.KindCrashed}, `true`},
	{"JSON of a million brackets", `try { JSON.parse("[".repeat(1e6)) } catch (e) { return e instanceof Error }`, []code.Kind{code.KindMemory, code.KindCrashed}, `true`},
	{"JSON of a million nested arrays", `try { JSON.parse("[".repeat(1e6) + "]".repeat(1e6)); return true } catch (e) { return e instanceof Error }`, []code.Kind{code.KindMemory, code.KindCrashed}, `true`},
	{"a value nested deep", `let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a`, []code.Kind{code.KindLimit, code.KindThrown}, ""},
	{"a million nested parentheses", strings.Repeat("(", 100_000), []code.Kind{code.KindSyntax, code.KindMemory, code.KindCrashed}, ""},
	{"nested templates", strings.Repeat("`${", 50_000), []code.Kind{code.KindSyntax, code.KindMemory, code.KindCrashed}, ""},
	{"nested regular expression", `new RegExp("(".repeat(1e6))`, []code.Kind{code.KindThrown, code.KindMemory, code.KindCrashed}, ""},
	{"comments without end for the form finder", strings.Repeat("/*", 100_000), []code.Kind{code.KindSyntax}, ""},
	{"a comparator that shrinks its array", `const a = Array.from({length: 1000}, (_, i) => -i); a.sort((x, y) => { a.length = 0; return x - y }); return a.length >= 0`, nil, `true`},
	{"a replacer that grows", `const a = [1]; JSON.stringify(a, (k, v) => { if (a.length < 1e4) a.push(1); return v }); return a.length > 1`, nil, `true`},

	{"thrown null", `throw null`, []code.Kind{code.KindThrown}, ""},
	{"thrown object with throwing getters", `throw {get message() { throw 1 }, get name() { throw 2 }, get stack() { throw 3 }, toString() { throw 4 }}`, []code.Kind{code.KindThrown}, ""},
	{"thrown error with throwing getters", `const e = new Error("m"); for (const k of ["name", "message", "stack", "code"]) Object.defineProperty(e, k, {get() { throw e }}); throw e`, []code.Kind{code.KindThrown}, ""},
	{"thrown proxy", `throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 }})`, []code.Kind{code.KindThrown}, ""},
	{"thrown revoked proxy", `const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy`, []code.Kind{code.KindThrown}, ""},
	{"thrown with a stack that lies", `const e = new Error("m"); e.stack = "at x (<eval>:99999999999999:1)\n".repeat(1e5); throw e`, []code.Kind{code.KindThrown}, ""},
	{"thrown symbol", `throw Symbol("s")`, []code.Kind{code.KindThrown}, ""},
	{"returned proxy that throws", `return new Proxy({}, {get(t, k) { if (k === "then") return undefined; throw new Error("no") }, ownKeys() { throw new Error("no") }})`, []code.Kind{code.KindThrown}, ""},
	{"returned revoked proxy", `const r = Proxy.revocable({}, {}); r.revoke(); return [r.proxy]`, []code.Kind{code.KindThrown}, ""},

	{"import", `try { await import("fs"); return "loaded" } catch (e) { return "refused" }`, []code.Kind{code.KindStuck}, `"refused"`},
	{"eval", `try { return eval("1") } catch (e) { return e.name }`, nil, `"EvalError"`},
	{"indirect eval", `try { return (0, eval)("1") } catch (e) { return e.name }`, nil, `"EvalError"`},
	{"Function", `const r = []; for (const f of [Function, (function () {}).constructor, (async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor, class {}.constructor, Object.getPrototypeOf(Int8Array).constructor, Reflect.construct.constructor, openclaw.tools.call.constructor, console.log.constructor]) { try { r.push(typeof f("return 1")) } catch (e) { r.push(e.name) } } return [...new Set(r)]`, nil, `["EvalError"]`},
	{"Function through Reflect", `try { return Reflect.construct(Function, ["return 1"])() } catch (e) { return e.name }`, nil, `"EvalError"`},
	{"Function by a subclass", `try { class F extends Function {} return new F("return 1")() } catch (e) { return e.name }`, nil, `"EvalError"`},
	{"names of other environments", `return ["require", "process", "fetch", "WebAssembly", "setTimeout", "Atomics", "SharedArrayBuffer", "queueMicrotask", "std", "os", "scriptArgs", "print", "module", "gc", "Worker", "Deno"].filter(n => n in globalThis)`, nil, `[]`},
	{"the realm of errors from inside", `try { null.x } catch (e) { return e.constructor === TypeError && e.constructor.constructor === Function }`, nil, `true`},
	{"stack formatter", `Error.prepareStackTrace = (e, s) => s; const s = new Error("x").stack; return [typeof s, /node:|\/internal|\.go|\/work|\/tmp/.test(s)]`, nil, `["string",false]`},
	{"the realm of what import gives", `const p = import("fs"); p.catch(() => {}); const F = p.constructor.constructor; try { return typeof F("return process")() } catch (e) { return [e.name, e.constructor === EvalError, p.constructor === Promise] }`, nil, `["EvalError",true,true]`},
	{"a thenable that resolves to itself", `const t = {then(r) { r(t) }}; return t`, loops, ""},
	{"nothing of the bridge's inside is reachable", `const found = new Set(), seen = new Set();
		(function walk(o, depth) {
			if (depth > 8 || o === null || (typeof o !== "object" && typeof o !== "function") || seen.has(o)) return;
			seen.add(o);
			if (typeof o === "function" && /^.bridge/.test(o.name)) found.add(o.name.slice(8));
			walk(Object.getPrototypeOf(o), depth + 1);
			for (const k of Reflect.ownKeys(o)) {
				let d; try { d = Reflect.getOwnPropertyDescriptor(o, k) } catch { continue }
				for (const f of ["value", "get", "set"]) if (d && d[f] != null) walk(d[f], depth + 1);
			}
		})([globalThis, openclaw, console, openclaw.tools.search("x"), async function () {}, function* () {}, async function* () {}], 0);
		found.delete("formatStack");
		return [...found].sort()`, nil, `["begin","call","catch","consoleError","consoleLog","consoleWarn","describe","finally","notAwaited","refuse","search","then"]`},
	{"a proxy behind the global object", `Object.setPrototypeOf(globalThis, new Proxy({}, {get() { throw 1 }, has() { return true }})); await openclaw.tools.search("x"); return 1`, nil, `1`},
	{"the caller of the body", `function f() { return f.caller } try { const c = f(); return c === null || c === undefined || typeof c === "function" && !String(c).includes("$bri" + "dge_") } catch { return true }`, nil, `true`},
	{"arguments.callee", `try { return typeof arguments.callee.caller } catch (e) { return "object" }`, nil, `"object"`},
	{"error stack shows no host path", `try { null.x } catch (e) { return /\/|\.js|\.go|node:/.test(e.stack) }`, nil, `false`},
}

func TestHostile(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Limits.Timeout = 500 * time.Millisecond
		o.Warm = 2
		// Loops and bombs wait for the deadline; the others must not meet it on
		// a busy machine.
		short := newRunner(t, o)
		o.Limits.Timeout = 30 * time.Second
		long := newRunner(t, o)
		for _, c := range hostileCases {
			t.Run(c.name, func(t *testing.T) {
				r := long
				if slices.Contains(c.kinds, code.KindTimeout) {
					r = short
				}
				report := run(t, r, c.body, &host{})
				switch {
				case report.OK && c.want == "":
					t.Errorf("it returned %.200s", report.Value)
				case report.OK && string(report.Value) != c.want:
					t.Errorf("value %.200s, want %s", report.Value, c.want)
				case !report.OK && !slices.Contains(c.kinds, report.Error.Kind):
					t.Errorf("error of kind %q: %.300v, want %v %s", report.Error.Kind, report.Error, c.kinds, c.want)
				}
				if report.Error != nil && (len(report.Error.Message) > 9000 || len(report.Error.Stack) > 3000 || len(report.Error.Snippet) > 1000) {
					t.Errorf("texts of the error are not bounded")
				}
			})
		}
		// After all that the runner is as good as new.
		if report := run(t, long, `return "well"`, &host{}); string(report.Value) != `"well"` {
			t.Errorf("afterwards: %+v", report)
		}
	})
}

// TestOverriddenBuiltIns lets a body replace everything the bridge could lean
// on, then checks that requests, replies, logs and the result are still true.
func TestOverriddenBuiltIns(t *testing.T) {
	attacks := []struct{ name, body string }{
		{"Promise.prototype.then", `Promise.prototype.then = function () { throw new Error("own") }; Promise.prototype.catch = Promise.prototype.finally = null`},
		{"Promise", `globalThis.Promise = class { constructor() { throw 1 } }; `},
		{"Promise species", `Object.defineProperty(Promise, Symbol.species, {value: function (f) { f(() => {}, () => {}); throw 1 }}); Promise.prototype.constructor = class { static [Symbol.species] = class { constructor(f) { f(() => {}, () => {}) } } }`},
		{"JSON", `JSON.stringify = () => '["forged"]'; JSON.parse = () => "forged"; globalThis.JSON = null`},
		{"Array.prototype", `for (const k of Object.getOwnPropertyNames(Array.prototype)) { try { if (typeof Array.prototype[k] === "function") Array.prototype[k] = () => "forged" } catch {} } Array.prototype[Symbol.iterator] = () => { throw 1 }`},
		{"Reflect and Function.prototype", `Reflect.apply = () => "forged"; Reflect.defineProperty = () => true; Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => () => "forged"`},
		{"String.prototype", `for (const k of Object.getOwnPropertyNames(String.prototype)) if (typeof String.prototype[k] === "function") String.prototype[k] = () => "forged"; globalThis.String = null`},
		{"Object", `Object.freeze = Object.create = () => ({}); Object.prototype.toJSON = () => "forged"; delete Object.prototype.toJSON`},
		{"polluted descriptors", `Object.prototype.get = () => "forged"; Object.prototype.set = () => {}; Object.prototype.value = "forged"; Object.prototype.enumerable = true`},
		{"polluted names of the bridge", `for (const k of ["type", "payload", "site", "resolve", "reject", "line", "column", "code", "details", "level", "text", "cut", "n", "result", "kind", "shift", "bad"]) Object.prototype[k] = "forged"`},
		{"Error", `Error.prototype.name = "forged"; globalThis.Error = null; Error?.captureStackTrace; Object.defineProperty(TypeError.prototype, "message", {get() { throw 1 }})`},
		{"WeakSet, Map, Math, RegExp", `WeakSet.prototype.has = WeakSet.prototype.add = () => true; Map.prototype.forEach = () => { throw 1 }; Math.floor = () => NaN; RegExp.prototype.exec = () => null; RegExp.prototype[Symbol.replace] = () => "forged"`},
		{"tools", `openclaw.tools.call = () => "forged"; openclaw.tools = {call: () => "forged"}; try { openclaw = {tools: {}} } catch {} try { Object.defineProperty(globalThis, "openclaw", {value: 1}) } catch {} Object.setPrototypeOf; try { Object.setPrototypeOf(openclaw.tools, {call: () => "forged"}) } catch {}`},
		{"globalThis", `for (const k of Reflect.ownKeys(globalThis)) { if (k !== "globalThis" && k !== "undefined" && k !== "Object") try { delete globalThis[k] } catch {} }`},
		{"Symbol", `try { Object.defineProperty(Symbol, "iterator", {value: 1}) } catch {} Symbol.prototype.toString = () => "forged"; BigInt.prototype.toString = () => "forged"; BigInt.prototype.toLocaleString = null`},
		{"toPrimitive", `Object.prototype[Symbol.toPrimitive] = () => "forged"; Object.prototype.toString = () => "forged"; Object.prototype.valueOf = () => "forged"`},
	}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				var got atomic.Value
				h := &host{call: func(_ context.Context, id string, args json.RawMessage) (code.CallReply, error) {
					got.Store(id + string(args))
					return code.CallReply{Result: &tool.Result{Content: []tool.Content{tool.Text("true")}, Details: json.RawMessage(`{"true":1}`)}}, nil
				}}
				report := run(t, r, a.body+`; console.log("line"); const r = await openclaw.tools.call("id", {a: 1}); return {reply: r.result.details.true, text: r.result.content.length}`, h)
				if got.Load() != `id{"a":1}` {
					t.Errorf("the host was asked for %v; error %v", got.Load(), report.Error)
				}
				if !report.OK || string(report.Value) != `{"reply":1,"text":1}` {
					t.Errorf("value %s, error %v", report.Value, report.Error)
				}
				if len(report.Logs) != 1 || report.Logs[0].Text != "line" {
					t.Errorf("logs %v", report.Logs)
				}
			})
		}
		t.Run("index setters on Array.prototype", func(t *testing.T) {
			// QuickJS's own JSON.stringify runs them, so a body that does this may
			// lose its value, but not the truth about itself.
			report := run(t, r, `for (let i = 0; i < 10; i++) Object.defineProperty(Array.prototype, i, {set() { throw new RangeError("own") }, get() { return "forged" }, configurable: true}); console.log("line"); await openclaw.tools.search("x"); return {a: [1]}`, &host{})
			if len(report.Logs) != 1 || report.Logs[0].Text != "line" || report.Searches != 1 {
				t.Errorf("logs %v, %d searches", report.Logs, report.Searches)
			}
			if report.OK && string(report.Value) != `{"a":[1]}` || !report.OK && report.Error.Name != "RangeError" {
				t.Errorf("value %s, error %v", report.Value, report.Error)
			}
		})
		t.Run("toJSON on Object.prototype", func(t *testing.T) {
			// By the language every object's JSON is the body's word now. What the
			// bridge says of itself is not made of objects.
			report := run(t, r, `Object.prototype.toJSON = () => "own"; console.log({}); throw new RangeError("true")`, &host{})
			if len(report.Logs) != 1 || report.Logs[0].Text != `"own"` || report.Error == nil || report.Error.Name != "RangeError" || report.Error.Message != "true" || report.Error.Line != 1 {
				t.Errorf("logs %v, error %+v", report.Logs, report.Error)
			}
		})
		t.Run("then on Object.prototype", func(t *testing.T) {
			// By the language every object is a thenable now, replies too. The body
			// may confuse itself, but it ends, and the host saw what was sent.
			var calls atomic.Int32
			report := run(t, r, `Object.prototype.then = function (ok) { delete Object.prototype.then; ok("taken") }; const v = await openclaw.tools.call("x", {}); return v`,
				&host{call: func(context.Context, string, json.RawMessage) (code.CallReply, error) {
					calls.Add(1)
					return code.CallReply{Result: tool.TextResult("x")}, nil
				}})
			if calls.Load() != 1 || report.Error != nil && report.Error.Kind == code.KindCrashed {
				t.Errorf("%d calls, report %+v", calls.Load(), report)
			}
		})
	})
}

func TestArgumentsThatRunCode(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"getters run once", `let n = 0; const a = {get x() { return ++n }}; const r = await openclaw.tools.call("x", a); return [r.result.details.x, n]`, `[1,1]`},
		{"a getter that throws rejects", `try { await openclaw.tools.call("x", {get x() { throw new RangeError("mine") }}); } catch (e) { return e.message }`, `"mine"`},
		{"a proxy is read through its traps", `const p = new Proxy({}, {ownKeys: () => ["k"], getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true}), get: (t, k) => k === "k" ? "v" : undefined}); return (await openclaw.tools.call("x", p)).result.details`, `{"k":"v"}`},
		{"an id with toString is refused", `try { await openclaw.tools.call({toString: () => "x", [Symbol.toPrimitive]: () => "x"}) } catch (e) { return e.name }`, `"TypeError"`},
		{"requests from a getter", `const a = {get x() { openclaw.tools.search("inner").then(() => console.log("inner")); return 1 }}; await openclaw.tools.call("x", a); return "outer"`, `"outer"`},
		{"a thenable result of then", `return await openclaw.tools.search("x").then(() => ({then(ok) { ok("second") }}))`, `"second"`},
		{"then called with nothing", `openclaw.tools.search("x").then(); return 1`, `1`},
		{"then with a foreign this", `const h = openclaw.tools.search("x"); const r = []; for (const o of [undefined, {}, Object.create(h)]) { try { h.then.call(o, () => {}) } catch (e) { r.push(e instanceof TypeError) } } return r`, `[true,true,true]`},
		{"a handle leads nowhere but to Promise", `const h = openclaw.tools.search("x"); const p = Object.getPrototypeOf(h); return [p.constructor === undefined, Object.create(h).constructor === undefined, h.constructor === Promise, Object.getPrototypeOf(p), Object.isFrozen(p)]`, `[true,true,true,null,true]`},
		{"what a handle's then gives is of the engine's making", `const P = Promise, no = class { constructor(f) { f(() => {}, () => {}) } }; Object.defineProperty(P, Symbol.species, {value: no}); const r = []; for (const d of [openclaw.tools.search("a").then(), openclaw.tools.search("b").catch(), openclaw.tools.search("c").finally()]) { r.push(d instanceof no, Array.isArray(await d)) } return r`, `[false,true,false,true,false,true]`},
		{"every way to wait begins a request", `const s = q => openclaw.tools.search(q); const P = Promise.prototype; return (await Promise.all([s("1"), Promise.all([s("2")]), Promise.race([s("3")]), Promise.any([s("4")]), Promise.allSettled([s("5")]), Promise.resolve(s("6")), (async () => s("7"))(), P.then.call(s("8")), new Promise(ok => ok(s("9"))), (async () => { for await (const x of [s("10")]) return x })(), (async function* () { yield s("11") })().next()])).length`, `11`},
		{"null thrown while the arguments are read", `try { await openclaw.tools.call("x", {get x() { throw null }}); return "no" } catch (e) { return e === null }`, `true`},
		{"lone surrogates cross", `return (await openclaw.tools.call("x", {s: "a\ud800"})).result.details.s.length`, `2`},
		{"NUL and quotes cross", `return (await openclaw.tools.call("x", {s: "\0\"\\\u2028"})).result.details.s`, `"\u0000\"\\` + "\u2028" + `"`},
		{"a key __proto__ crosses", `return Object.keys((await openclaw.tools.call("x", JSON.parse('{"__proto__": 1, "constructor": 2}'))).result.details)`, `["__proto__","constructor"]`},
	}
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				report := run(t, r, c.body, &host{})
				if !report.OK || string(report.Value) != c.want {
					t.Errorf("value %s, error %v, want %s", report.Value, report.Error, c.want)
				}
			})
		}
	})
}

// What runs while the outcome is written begins no calls: nobody would hear their
// answers, and the outcome is that of a run which is over.
func TestNothingIsCalledWhileTheOutcomeIsWritten(t *testing.T) {
	const late = `const late = () => { for (let i = 0; i < 3; i++) openclaw.tools.call("late", {i}).then(() => {}); };`
	eachRuntime(t, func(t *testing.T, o code.Options) {
		r := newRunner(t, o)
		for _, c := range []struct {
			name, body, want string
			kind             code.Kind
		}{
			{"a value's toJSON", late + `return {toJSON() { late(); return "x" }}`, `"x"`, ""},
			{"a value's getter", late + `return {get x() { late(); return 1 }}`, `{"x":1}`, ""},
			{"an error's message", late + `throw Object.defineProperty(new Error(), "message", {get() { late(); return "m" }})`, `null`, code.KindThrown},
		} {
			var called atomic.Int64
			report := run(t, r, c.body, &host{call: func(context.Context, string, json.RawMessage) (code.CallReply, error) {
				called.Add(1)
				return code.CallReply{Result: &tool.Result{}}, nil
			}})
			var kind code.Kind
			if report.Error != nil {
				kind = report.Error.Kind
			}
			if string(report.Value) != c.want || kind != c.kind || report.OK != (c.kind == "") || called.Load() != 0 || len(report.Calls) != 0 {
				t.Errorf("%s: %s, %+v, and %d calls were made", c.name, report.Value, report.Error, called.Load())
			}
		}
	})
}
