package code_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsearch/toolsearch/code"
)

// languageCases are bodies whose values follow from ECMA-262; the section is
// named where it decides.
var languageCases = []struct{ name, body, want string }{
	{"no value is undefined", `1 + 1`, `null`},
	{"arithmetic", `return [7 % -3, -7 % 3, 2 ** 10, 1 / 3 > 0.333, 0.1 + 0.2 === 0.3]`, `[1,-1,1024,true,false]`},
	{"integer operators", `return [1 << 31, -1 >>> 0, 5 & 3, 5 | 3, 5 ^ 3, ~5]`, `[-2147483648,4294967295,1,7,6,-6]`},
	{"number to string", `return [String(1e21), String(123456789012345680000), String(-0), (255).toString(16), (0.000001234).toString()]`, `["1e+21","123456789012345680000","0","ff","0.000001234"]`},
	{"toFixed and toPrecision", `return [(1.005).toFixed(2), (1234.5678).toFixed(1), (0.00001).toPrecision(1)]`, `["1.00","1234.6","0.00001"]`},
	{"parse numbers", `return [parseInt("12px"), parseInt("0x1f"), parseFloat("3.5e2x"), Number(""), Number("0b101"), Number.isNaN(Number("x"))]`, `[12,31,350,0,5,true]`},
	{"bigint", `return [(2n ** 64n).toString(), (-7n / 2n).toString(), BigInt.asUintN(8, 257n).toString(), typeof 1n]`, `["18446744073709551616","-3","1","bigint"]`},
	{"equality", `return [null == undefined, null == 0, "1" == 1, NaN === NaN, Object.is(-0, 0), [] == false]`, `[true,false,true,false,false,true]`},
	{"typeof", `return [typeof null, typeof undefined, typeof (() => 1), typeof Symbol(), typeof nowhere]`, `["object","undefined","function","symbol","undefined"]`},
	{"template literals", "const t = (s, ...v) => s.raw.join('|') + v.join(','); return [`a${1 + 1}b`, t`x\\n${1}y${2}z`]", `["a2b","x\\n|y|z1,2"]`},
	{"destructuring", `const {a, b: {c = 5, ...rest} = {}, ...others} = {a: 1, b: {d: 2, e: 3}, f: 4}; const [x, , y = 9, ...z] = [1, 2, undefined, 4, 5]; return [a, c, rest, others, x, y, z]`, `[1,5,{"d":2,"e":3},{"f":4},1,9,[4,5]]`},
	{"spread", `return [Math.max(...[1, 5, 3]), {...{a: 1}, b: 2, ...null}, [..."añ😀"]]`, `[5,{"a":1,"b":2},["a","ñ","😀"]]`},
	{"optional chaining and nullish", `const o = {f: null, g: 0}; return [o?.x?.y ?? "d", o.f?.(), o.g ?? 1, o.g || 1]`, `["d",null,0,1]`},
	{"logical assignment", `let a = null, b = 1, c = 0; a ??= 2; b &&= 3; c ||= 4; return [a, b, c]`, `[2,3,4]`},
	{"closures in loops (14.7.4)", `const f = []; for (let i = 0; i < 3; i++) f.push(() => i); return f.map(g => g())`, `[0,1,2]`},
	{"hoisting and the dead zone", `const r = [typeof v, f()]; try { x } catch (e) { r.push(e.name) } var v = 1; let x = 2; function f() { return "f" } return r`, `["undefined","f","ReferenceError"]`},
	{"labels", `let n = 0; outer: for (const a of [1, 2, 3]) { for (const b of [1, 2, 3]) { if (b === 2) continue outer; if (a === 3) break outer; n += a * b } } return n`, `3`},
	{"switch falls through", `const f = x => { const r = []; switch (x) { case 1: r.push(1); default: r.push("d"); case 2: r.push(2) } return r }; return [f(1), f(2), f(3)]`, `[[1,"d",2],[2],["d",2]]`},
	{"finally overrides", `const f = () => { try { return 1 } finally { return 2 } }; const g = () => { try { throw 1 } catch (e) { return e } finally { } }; return [f(), g()]`, `[2,1]`},
	{"classes", `class A { #x = 1; static n = 0; static { A.n = 7 } get x() { return this.#x } set x(v) { this.#x = v * 2 } static is(o) { return #x in o } } class B extends A { constructor() { super(); this.x = 5 } get x() { return super.x + 1 } set x(v) { super.x = v } } const b = new B(); return [b.x, A.n, A.is(b), A.is({}), b instanceof A]`, `[11,7,true,false,true]`},
	{"symbols", `const s = Symbol("d"); const o = {[s]: 1, [Symbol.toPrimitive](h) { return h === "number" ? 42 : "str" }}; return [s.description, +o, String(o), Object.keys(o).length, Symbol.for("k") === Symbol.for("k")]`, `["d",42,"str",0,true]`},
	{"iterators", `const it = {*[Symbol.iterator]() { yield 1; yield* [2, 3]; return 4 }}; const g = it[Symbol.iterator](); return [[...it], g.next(), g.return(9), g.next().done]`, `[[1,2,3],{"value":1,"done":false},{"value":9,"done":true},true]`},
	{"iterator helpers", `function* n() { let i = 0; while (true) yield i++ } return n().filter(x => x % 2).map(x => x * x).drop(1).take(3).toArray()`, `[9,25,49]`},
	{"generators take values", `function* g() { const a = yield 1; try { yield a * 2 } catch (e) { yield "caught " + e } } const i = g(); return [i.next().value, i.next(21).value, i.throw("x").value, i.next().done]`, `[1,42,"caught x",true]`},
	{"async iteration", `async function* g() { for (let i = 0; i < 3; i++) { await null; yield i } } const r = []; for await (const x of g()) r.push(x); for await (const x of [Promise.resolve("p"), "v"]) r.push(x); return r`, `[0,1,2,"p","v"]`},
	{"order of jobs (27.2)", `const r = []; const p = Promise.resolve().then(() => r.push("then")); (async () => { r.push("sync"); await null; r.push("await") })(); r.push("end"); await p; await null; return r`, `["sync","end","then","await"]`},
	{"promise combinators", `const no = Promise.reject(new TypeError("n")); const s = await Promise.allSettled([1, no]); return [await Promise.all([1, Promise.resolve(2)]), await Promise.race([3, new Promise(() => {})]), await Promise.any([no, 4]), s.map(x => x.status)]`, `[[1,2],3,4,["fulfilled","rejected"]]`},
	{"aggregate error", `try { await Promise.any([Promise.reject(1), Promise.reject(2)]) } catch (e) { return [e.name, e.errors] }`, `["AggregateError",[1,2]]`},
	{"promise with resolvers", `const {promise, resolve} = Promise.withResolvers(); resolve(5); return await promise`, `5`},
	{"error causes", `const e = new Error("m", {cause: {k: 1}}); return [e.cause, e instanceof Error, Object.prototype.toString.call(e), String(new RangeError("r"))]`, `[{"k":1},true,"[object Error]","RangeError: r"]`},
	{"map and set", `const m = new Map([[NaN, 1], ["a", 2]]); const s = new Set([3, 1, 3]); return [m.get(NaN), m.size, [...s], [...new Set([1, 2]).union(new Set([2, 3]))]]`, `[1,2,[3,1],[1,2,3]]`},
	{"weak collections", `const k = {}; const w = new WeakMap([[k, 1]]); return [w.get(k), w.has({}), new WeakRef(k).deref() === k]`, `[1,false,true]`},
	{"array methods", `const a = [3, 1, 2]; return [a.toSorted(), a, a.with(0, 9), a.at(-1), a.findLast(x => x > 1), [1, [2, [3, [4]]]].flat(2), Array.from({length: 3}, (_, i) => i * 2), a.includes(1)]`, `[[1,2,3],[3,1,2],[9,1,2],2,2,[1,2,3,[4]],[0,2,4],true]`},
	{"sort is stable and by text", `return [[10, 9, 1].sort(), [["b", 1], ["a", 1], ["c", 0]].sort((x, y) => x[1] - y[1]).map(x => x[0])]`, `[[1,10,9],["c","b","a"]]`},
	{"holes", `const a = [1, , 3]; return [a.length, 1 in a, a.map(x => x * 2).length, JSON.stringify(a), Object.keys(a)]`, `[3,false,3,"[1,null,3]",["0","2"]]`},
	{"grouping", `return Object.groupBy([1, 2, 3, 4], x => x % 2 ? "odd" : "even")`, `{"odd":[1,3],"even":[2,4]}`},
	{"property order (10.1.11)", `return Object.keys({b: 1, 2: 1, a: 1, 1: 1, [-1]: 1})`, `["1","2","b","a","-1"]`},
	{"property descriptors", `const o = Object.freeze({a: 1}); o.a = 2; const d = Object.getOwnPropertyDescriptor({get x() { return 1 }}, "x"); return [o.a, Object.isFrozen(o), typeof d.get, d.set === undefined, Object.fromEntries([["k", 1]])]`, `[1,true,"function",true,{"k":1}]`},
	{"proxies and Reflect", `const log = []; const p = new Proxy({}, {get: (t, k) => k === "then" ? undefined : "got " + String(k), has: (t, k) => k === "yes", set: (t, k, v) => { log.push(k); return Reflect.set(t, k, v) }}); p.z = 1; return [p.a, "yes" in p, "no" in p, log, Reflect.ownKeys({b: 1, [Symbol.iterator]: 1}).length]`, `["got a",true,false,["z"],2]`},
	{"strings", `return ["abc".at(-1), "a-b-c".replaceAll("-", "+"), "x".padStart(3, "ab"), " t ".trim(), "😀".length, "😀".codePointAt(0), "ß".toUpperCase(), "a,b".split(","), "abc".slice(-2), "e\u0301".normalize("NFC").length]`, `["c","a+b+c","abx","t",2,128512,"SS",["a","b"],"bc",1]`},
	{"ill-formed strings", `return ["a\ud800".isWellFormed(), "a\ud800".toWellFormed().charCodeAt(1)]`, `[false,65533]`},
	{"regular expressions", `const m = "2024-05-06".match(/(?<y>\d{4})-(?<m>\d\d)/); return [m.groups.y, m.index, "aBc".replace(/b/i, x => "[" + x + "]"), [..."a1b2".matchAll(/[a-z](\d)/g)].map(x => x[1]), /(?<=\$)\d+/.exec("cost $42")[0], /^\p{Lu}/u.test("Éa"), /a.c/s.test("a\nc")]`, `["2024",0,"a[B]c",["1","2"],"42",true,true]`},
	{"sticky and lastIndex", `const r = /a/y; return [r.test("ba"), r.lastIndex, (r.lastIndex = 1, r.test("ba")), r.lastIndex]`, `[false,0,true,2]`},
	{"dates (21.4)", `const d = new Date(Date.UTC(2024, 1, 29, 12)); d.setUTCFullYear(2023); return [d.toISOString(), new Date("2024-01-01T00:00:00Z").getTime(), new Date(NaN).getTime(), new Date(2024, 0, 1).getTimezoneOffset()]`, `["2023-03-01T12:00:00.000Z",1704067200000,null,0]`},
	{"JSON", `return [JSON.stringify({a: undefined, b: () => 1, c: [undefined], d: new Date(0), e: "\ud800"}), JSON.stringify({b: 1, a: [1, {c: 2}]}, ["a", "c"]), JSON.parse('{"x":[1,2]}', (k, v) => Array.isArray(v) ? v.length : v), JSON.stringify([1], null, 1)]`, `["{\"c\":[null],\"d\":\"1970-01-01T00:00:00.000Z\",\"e\":\"\\ud800\"}","{\"a\":[1,{\"c\":2}]}",{"x":2},"[\n 1\n]"]`},
	{"JSON keeps __proto__ a key", `const o = JSON.parse('{"__proto__": 1}'); return [Object.keys(o), Object.getPrototypeOf(o) === Object.prototype]`, `[["__proto__"],true]`},
	{"typed arrays", `const b = new ArrayBuffer(8, {maxByteLength: 16}); const v = new DataView(b); v.setFloat32(0, 1.5); const u = new Uint8Array(b, 0, 4); b.resize(16); return [[...u], b.byteLength, [...new Uint8ClampedArray([300, -5, 1.5])], Uint8Array.from([3, 1, 2]).toSorted()[0]]`, `[[63,192,0,0],16,[255,0,2],1]`},
	{"URI functions", `return [encodeURIComponent("a b&ü"), decodeURIComponent("%F0%9F%98%80"), encodeURI("http://x/ü?a=b")]`, `["a%20b%26%C3%BC","😀","http://x/%C3%BC?a=b"]`},
	{"tail of getters and setters", `const o = {_v: 1, get v() { return this._v }, set v(x) { this._v = x + 1 }}; o.v = 5; const {v} = o; return [v, Object.entries(o)]`, `[6,[["_v",6],["v",6]]]`},
	{"new.target and arguments", `function F() { return [new.target === undefined, arguments.length] } class G { constructor() { this.t = new.target.name } } return [F(1, 2), new G().t]`, `[[true,2],"G"]`},
	{"generator return runs finally", `const r = []; function* g() { try { yield 1 } finally { r.push("cleanup") } } for (const x of g()) break; return r`, `["cleanup"]`},
	{"sloppy this and implicit globals", `implicit = 3; return [globalThis.implicit, (function () { return this === globalThis })(), (function () { "use strict"; return this === undefined })()]`, `[3,true,true]`},
	{"async errors are caught", `const f = async () => { throw new TypeError("t") }; try { await f(); return "no" } catch (e) { return [e.name, e.message] } finally { await null }`, `["TypeError","t"]`},
	{"a returned promise is awaited", `return Promise.resolve({a: Promise.resolve(1).constructor === Promise})`, `{"a":true}`},
	{"a thenable is awaited (27.2.1.3.2)", `return {then(ok) { ok("from then") }}`, `"from then"`},
}

func TestLanguage(t *testing.T) {
	eachRuntime(t, func(t *testing.T, o code.Options) {
		o.Warm = 2
		r := newRunner(t, o)
		for _, c := range languageCases {
			t.Run(c.name, func(t *testing.T) {
				report := run(t, r, c.body, &host{})
				if !report.OK {
					t.Fatalf("failed: %v", report.Error)
				}
				if diff := cmp.Diff(c.want, string(report.Value)); diff != "" {
					t.Errorf("value (-want +got):\n%s", diff)
				}
			})
		}
	})
}
