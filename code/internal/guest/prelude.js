// The guest's side of the bridge. It is evaluated in the guest's own realm,
// before any guest code, and takes what it needs from the built-ins then and
// there: what the body overrides later changes nothing here.
//
// host, whose functions take and return only primitives and guest values:
//   send(type, json) -> id      writes a frame
//   ask(type, first, json) -> id  writes a request's: [first] or [first, json]
//   compile(source) -> ""       or {message, line, column} as JSON
//   make(source) -> value       evaluates an expression
//   strip(source) -> json       removes TypeScript types: {code} or {message, line, column}
//   size(text) -> the number of bytes of its UTF-8
//   locate(line, column) -> "line:column" in the source before strip
//
// Functions through which guest code may be on the stack are named $bridge…,
// so that their frames can be told from the body's.
(function $bridge_boot(host) {
  "use strict";

  // ---- what is taken from the realm ----
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, deleteProperty } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const { freeze, create } = Object;
  const PromiseC = Promise, ErrorC = Error, TypeErrorC = TypeError, EvalErrorC = EvalError, StringC = String;
  const PromiseProto = Promise.prototype, ErrorProto = Error.prototype;
  const then = uncurry(PromiseProto.then);
  const finallyOf = uncurry(PromiseProto.finally);
  const parse = JSON.parse, stringify = JSON.stringify;
  const slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf);
  const charCode = uncurry(String.prototype.charCodeAt);
  const bigText = uncurry(BigInt.prototype.toString);
  const symbolText = uncurry(Symbol.prototype.toString);
  const isArray = Array.isArray;
  const isErrorOfAnyRealm = ErrorC.isError;
  const floor = Math.floor;
  const WeakSetC = WeakSet;
  const seenAdd = uncurry(WeakSet.prototype.add), seenHas = uncurry(WeakSet.prototype.has), seenDelete = uncurry(WeakSet.prototype.delete);
  const mapEntries = uncurry(Map.prototype.forEach), setEntries = uncurry(Set.prototype.forEach);

  // guard keeps what a host function throws, such as a stack overflow in it,
  // from the guest: the error may belong to another realm.
  function guard(f, n) {
    return function $bridge_host(a, b, c) {
      try {
        return n === 1 ? f(a) : n === 2 ? f(a, b) : f(a, b, c);
      } catch {
        throw new ErrorC("the bridge could not carry this out");
      }
    };
  }
  const ask = guard(host.ask, 3), send = guard(host.send, 2), locate = guard(host.locate, 2);
  const size = guard(host.size, 1), compile = guard(host.compile, 1), make = guard(host.make, 1), strip = guard(host.strip, 1);

  const SEARCH = 18, DESCRIBE = 19, CALL = 20, LOG = 21, RESULT = 22, FAILURE = 23;

  // set defines a property without asking Object.prototype anything.
  function set(object, key, value, hidden) {
    defineProperty(object, key, { __proto__: null, value, writable: true, configurable: true, enumerable: !hidden });
    return object;
  }

  // fix defines a property nobody can change.
  function fix(object, key, value) {
    if (typeof value === "function") freeze(value);
    defineProperty(object, key, { __proto__: null, value, writable: false, configurable: false, enumerable: true });
    return object;
  }

  // own makes a promise immune to Symbol.species: `then` uses the intrinsic
  // constructor when this property is undefined.
  const own = (promise) => set(promise, "constructor", undefined, true);

  // ---- JSON that never throws for what JSON lacks ----
  const fits = (text, max) => text.length * 3 <= max || (text.length <= max && size(text) <= max);

  // cut returns the longest beginning of text that takes at most max bytes,
  // roughly: it halves its error until it fits.
  function cut(text, max, measure) {
    let n = text.length < max ? text.length : max;
    for (;;) {
      const last = n > 0 ? charCode(text, n - 1) : 0;
      if (last >= 0xd800 && last < 0xdc00) n--; // not inside a pair
      const part = slice(text, 0, n);
      const bytes = measure(part);
      if (bytes <= max || n === 0) return part;
      n = floor((n * max) / bytes) - 1;
      if (n < 0) n = 0;
    }
  }

  // Built-ins whose plain JSON says nothing get a toJSON while the bridge
  // serialises, unless the body gave them its own.
  const plainForms = [
    [ErrorProto, function $bridge_errorJSON() { return describeError(this); }],
    [BigInt.prototype, function $bridge_bigJSON() { return bigText(this); }],
    [Map.prototype, function $bridge_mapJSON() {
      const out = []; mapEntries(this, (v, k) => { set(out, out.length, [k, v]); }); return out;
    }],
    [Set.prototype, function $bridge_setJSON() {
      const out = []; setEntries(this, (v) => { set(out, out.length, v); }); return out;
    }],
  ];

  function describeError(e) {
    const out = { name: text(e.name), message: text(e.message) };
    const code = e.code;
    if (typeof code === "string" || typeof code === "number") set(out, "code", code);
    return out;
  }

  // toJSON returns JSON text for any value. What JSON has no word for degrades:
  // undefined to null, a function or symbol at the top to its description, a
  // BigInt to its decimal digits, a circular reference to "[Circular]".
  function $bridge_toJSON(value, strict) {
    if (value === undefined) return "null";
    if (typeof value === "function") return stringify("[Function" + functionName(value) + "]");
    if (typeof value === "symbol") return stringify(symbolText(value));
    const added = { __proto__: null, n: 0 };
    for (let i = 0; i < plainForms.length; i++) {
      const proto = plainForms[i][0];
      if (getOwnPropertyDescriptor(proto, "toJSON") !== undefined) continue;
      if (defineProperty(proto, "toJSON", { __proto__: null, value: plainForms[i][1], configurable: true, writable: true, enumerable: false })) {
        added[added.n++] = proto;
      }
    }
    try {
      let out;
      try {
        out = stringify(value);
      } catch (e) {
        if (strict) throw e;
        out = stringify(value, $bridge_breakCycles());
      }
      return out === undefined ? "null" : out;
    } finally {
      for (let i = 0; i < added.n; i++) deleteProperty(added[i], "toJSON");
    }
  }

  // breakCycles is a JSON replacer that remembers the path from the root.
  function $bridge_breakCycles() {
    const path = { __proto__: null, n: 0 };
    const onPath = new WeakSetC();
    return function $bridge_replace(key, value) {
      if (typeof value === "bigint") return bigText(value);
      if (typeof value !== "object" || value === null) return value;
      while (path.n > 0 && path[path.n - 1] !== this) {
        seenDelete(onPath, path[--path.n]);
      }
      if (seenHas(onPath, value)) return "[Circular]";
      seenAdd(onPath, value);
      path[path.n++] = value;
      return value;
    };
  }

  function functionName(f) {
    try {
      const d = getOwnPropertyDescriptor(f, "name");
      return d && typeof d.value === "string" && d.value !== "" ? ": " + slice(d.value, 0, 100) : "";
    } catch {
      return "";
    }
  }

  // text turns anything into a string and never throws.
  function text(value) {
    try {
      if (typeof value === "string") return value;
      if (typeof value === "symbol") return symbolText(value);
      return StringC(value);
    } catch {
      return "[unprintable]";
    }
  }

  // ---- where in the body ----
  const FILE = "<eval>:";

  // position finds the innermost frame of the body in a stack text.
  function position(stack) {
    let from = 0;
    while (from < stack.length) {
      let end = indexOf(stack, "\n", from);
      if (end < 0) end = stack.length;
      const frame = slice(stack, from, end);
      from = end + 1;
      const at = indexOf(frame, FILE);
      if (at < 0 || indexOf(frame, "$bridge") >= 0) continue;
      let i = at + FILE.length, line = 0, column = 0, c;
      for (; i < frame.length && (c = charCode(frame, i)) >= 48 && c <= 57; i++) line = line * 10 + c - 48;
      for (i++; i < frame.length && (c = charCode(frame, i)) >= 48 && c <= 57; i++) column = column * 10 + c - 48;
      if (line > 0) return place(line, column);
    }
    return null;
  }

  let shift = 0; // columns that the wrapper adds to line 1

  function place(line, column) {
    if (line === 1) column = column > shift ? column - shift : 1;
    const at = locate(line, column);
    const colon = indexOf(at, ":");
    return { __proto__: null, line: +slice(at, 0, colon), column: +slice(at, colon + 1) };
  }

  // formatStack writes V8's frames as text, the body's alone.
  function $bridge_formatStack(error, sites) {
    let out = "";
    try {
      for (let i = 0; i < sites.length; i++) {
        const site = sites[i];
        if (apply(site.getFileName, site, []) !== "<eval>") continue;
        const name = apply(site.getFunctionName, site, []);
        out += (out === "" ? "" : "\n") + "    at " + (typeof name === "string" && name !== "" ? name : "<anonymous>") +
          " (" + FILE + apply(site.getLineNumber, site, []) + ":" + apply(site.getColumnNumber, site, []) + ")";
      }
    } catch {
      // a text is all that is asked for
    }
    return out;
  }

  // ---- the requests ----
  const limits = { __proto__: null, log: 65536, result: 262144, args: 1048576, inFlight: 16, calls: 1000 };

  // A request is a list of these. Its elements, like those of flying, are its
  // own, so that writing one asks no prototype; a list costs a third of an object.
  const BEGUN = 0, TYPE = 1, FIRST = 2, REST = 3, SITE = 4, ID = 5, RESOLVE = 6, REJECT = 7;
  const BAD = 0; // the type of a request that cannot be made: its site is the error
  const waiting = { __proto__: null };
  const flying = parse("[" + "null,".repeat(63) + "null]");
  let head = 0, tail = 0, inFlight = 0, made = 0;
  let over = false; // the outcome is being written, by which code of the body's may run

  function launch(request) {
    let i = 0;
    while (flying[i] !== null) i++;
    request[ID] = ask(request[TYPE], request[FIRST], request[REST]);
    request[FIRST] = request[REST] = "";
    flying[i] = request;
    inFlight++;
  }

  function begin(request) {
    request[BEGUN] = true;
    if (request[TYPE] === BAD) {
      request[REJECT](request[SITE]);
    } else if (over) {
      request[REJECT](failure("the code has ended: nothing is called any more", "cancelled", undefined, request[SITE]));
    } else if (++made > limits.calls) {
      request[REJECT](failure("the limit of " + limits.calls + " tool requests in one run is used up", "limit_exhausted", undefined, request[SITE]));
    } else if (inFlight < limits.inFlight) {
      launch(request);
    } else {
      waiting[tail++] = request;
    }
  }

  function failure(message, code, details, site) {
    const e = new ErrorC(message);
    if (code !== undefined) set(e, "code", code);
    if (details !== undefined) set(e, "details", details);
    if (typeof site === "string") set(e, "stack", site, true);
    return e;
  }

  let resolveNew, rejectNew; // of the promise that was made last
  function $bridge_executor(resolve, reject) { resolveNew = resolve; rejectNew = reject; }

  let deriving = false; // a promise is being made that depends on a handle
  let beginOf, $bridge_begin;

  // Handle is what a tools function gives back: a promise that makes its request
  // the first time somebody asks for its outcome. By the language, await,
  // Promise.resolve and the combinators read a promise's constructor before
  // they wait for it: that is where the request begins. So a request costs no
  // promise, closure or job beyond those of await.
  class $bridge_Handle extends PromiseC {
    #request;
    constructor(type, first, rest, site) {
      super($bridge_executor);
      this.#request = [false, type, first, rest, site, 0, resolveNew, rejectNew];
    }

    static {
      beginOf = (handle) => {
        const request = handle.#request;
        if (!request[BEGUN]) begin(request);
      };
      // Whoever makes a promise from this one takes the engine's own constructor
      // when there is none, whatever the body made of Symbol.species.
      $bridge_begin = function () {
        if (deriving || !(#request in this)) return undefined;
        const request = this.#request;
        if (!request[BEGUN]) begin(request);
        return PromiseC;
      };
    }
  }
  const handleProto = $bridge_Handle.prototype;
  Object.setPrototypeOf(handleProto, null);
  defineProperty($bridge_begin, "name", { __proto__: null, value: "$bridge_begin" });
  defineProperty(handleProto, "constructor", { __proto__: null, get: $bridge_begin, set: undefined, enumerable: false, configurable: true });

  function $bridge_derive(handle, how, a, b) {
    beginOf(handle);
    deriving = true;
    try {
      return how(handle, a, b);
    } finally {
      deriving = false;
    }
  }
  set(handleProto, "then", function $bridge_then(ok, bad) { return $bridge_derive(this, then, ok, bad); }, true);
  set(handleProto, "catch", function $bridge_catch(bad) { return $bridge_derive(this, then, undefined, bad); }, true);
  set(handleProto, "finally", function $bridge_finally(f) { return $bridge_derive(this, finallyOf, f); }, true);
  set(handleProto, "toJSON", function $bridge_notAwaited() { return "[not awaited: use await or .then]"; }, true);
  freeze(handleProto);

  // request serialises at once, so that later changes to the arguments do not
  // count, and reports what cannot be sent when the request is awaited.
  function $bridge_request(type, what, first, second, site) {
    let rest = "";
    try {
      if (typeof first !== "string") throw new TypeErrorC("openclaw.tools." + what + ": the first argument must be a string, got " + (first === null ? "null" : typeof first));
      if (second !== undefined) rest = $bridge_toJSON(second, true);
      if ((first.length * 2 + rest.length) * 3 > limits.args && !fits(stringify(first) + rest, limits.args - 3)) {
        throw new TypeErrorC("openclaw.tools." + what + ": the arguments take more than " + limits.args + " bytes");
      }
    } catch (e) {
      return new $bridge_Handle(BAD, "", "", e);
    }
    return new $bridge_Handle(type, first, rest, site);
  }

  const tools = { __proto__: null };
  fix(tools, "search", function $bridge_search(query, options) { return $bridge_request(SEARCH, "search", query, options, new ErrorC().stack); });
  fix(tools, "describe", function $bridge_describe(id) { return $bridge_request(DESCRIBE, "describe", id, undefined, new ErrorC().stack); });
  fix(tools, "call", function $bridge_call(id, args) { return $bridge_request(CALL, "call", id, args, new ErrorC().stack); });

  // deliver settles a request: the one with the frame's id, which is negated
  // for a fault.
  function $bridge_deliver(id, payload) {
    let ok = id > 0;
    if (!ok) id = -id;
    let i = 0;
    while (flying[i] === null || flying[i][ID] !== id) i++;
    const request = flying[i], resolve = request[RESOLVE], reject = request[REJECT];
    flying[i] = request[RESOLVE] = request[REJECT] = null; // no cycle is left to be collected
    inFlight--;
    if (head < tail) {
      const next = waiting[head];
      delete waiting[head++];
      launch(next);
    }
    let value;
    try {
      value = parse(payload);
      if (!ok) value = failure(value.message, value.code, value.details, request[SITE]);
      else if (request[TYPE] === CALL) addDetails(value);
    } catch (e) { // out of memory while parsing
      ok = false;
      value = e;
    }
    if (ok) resolve(value);
    else reject(value);
  }

  // addDetails lets a body read result.details of a tool that answered with
  // JSON in its only text block. It is not enumerable: what the body returns is
  // still exactly what the tool said.
  function addDetails(value) {
    const result = value.result;
    if (result === null || typeof result !== "object" || getOwnPropertyDescriptor(result, "details") !== undefined) return;
    const content = result.content;
    if (!isArray(content) || content.length !== 1 || content[0].type !== "text" || typeof content[0].text !== "string") return;
    const first = content[0].text[0];
    if (first !== "{" && first !== "[") return;
    try {
      set(result, "details", parse(content[0].text), true);
    } catch {
      // not JSON after all
    }
  }

  // ---- console ----
  let logged = 0, logFull = false;

  function $bridge_log(level, args) {
    if (logFull) return;
    let line = "";
    for (let i = 0; i < args.length && line.length <= limits.log; i++) {
      if (i > 0) line += " ";
      const part = $bridge_show(args[i]);
      line += part.length > limits.log ? slice(part, 0, limits.log + 1) : part;
    }
    const left = limits.log - logged;
    const bytes = size(line) + 1;
    if (bytes > left) {
      logFull = true;
      line = cut(line, left > 0 ? left - 1 : 0, size);
    }
    logged += bytes;
    send(LOG, '{"level":"' + level + '","text":' + stringify(line) + ',"cut":' + (logFull ? "true}" : "false}"));
  }

  function $bridge_show(value) {
    if (typeof value === "string") return value;
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return text(value);
    if (typeof value === "function") return "[Function" + functionName(value) + "]";
    try {
      if (isError(value)) return text(value.name) + ": " + text(value.message);
      return $bridge_toJSON(value, false);
    } catch (e) {
      return "[unprintable]";
    }
  }

  function isError(value) {
    if (isErrorOfAnyRealm !== undefined && isErrorOfAnyRealm(value)) return true;
    for (let p = value, i = 0; p !== null && i < 32; p = getPrototypeOf(p), i++) {
      if (p === ErrorProto) return true;
    }
    return false;
  }

  const consoleObject = { __proto__: null };
  fix(consoleObject, "log", function $bridge_consoleLog(...args) { $bridge_log("log", args); });
  fix(consoleObject, "warn", function $bridge_consoleWarn(...args) { $bridge_log("warn", args); });
  fix(consoleObject, "error", function $bridge_consoleError(...args) { $bridge_log("error", args); });

  // ---- the body ----
  const PENDING = 0, RETURNED = 1, THREW = 2;
  let state = PENDING, outcome;

  // compiles says whether source is one function body. Two wrappers in which
  // different tokens may follow the closing brace leave a body no way to close
  // its own function and go on outside: a statement cannot begin with the ","
  // or "}" that an object literal wants there.
  function compiles(source) {
    shift = 20;
    const bad = compile("async function $b(){" + source + "\n}");
    return bad !== "" ? bad : compile("({async   $bridge(){" + source + "\n}})");
  }

  // skip returns where the code begins after space and comments.
  function skip(source) {
    for (let i = 0; i < source.length;) {
      if (source[i] <= " ") i++;
      else if (source.startsWith("//", i)) i = lineEnd(source, i);
      else if (source.startsWith("/*", i) && source.indexOf("*/", i + 2) > 0) i = source.indexOf("*/", i + 2) + 2;
      else return i;
    }
    return source.length;
  }

  function lineEnd(source, from) {
    const end = source.indexOf("\n", from);
    return end < 0 ? source.length : end;
  }

  // forms tries the shapes of code that are accepted and returns the text to
  // evaluate, or the first complaint. A bare function is called; so is one
  // that is exported by default.
  function forms(source) {
    if (/^(?:async\b|function\b|\(|[A-Za-z_$][\w$]*\s*=>)/.test(source.slice(skip(source), skip(source) + 300))) {
      let end = source.length;
      while (end > 0 && (source[end - 1] === ";" || source[end - 1] <= " ")) end--;
      const bare = "(async function(){return [(" + source.slice(0, end) + "\n)]})";
      if (compiles("return [(" + source.slice(0, end) + "\n)]") === "") return { text: bare, shift: 27, kind: "bare" };
    }
    const bad = compiles(source);
    if (bad === "") return { text: "(async function(){" + source + "\n})", shift: 18, kind: "body" };
    const exported = source.replace(/^([ \t]*)export[ \t]+default\b/m, (all, lead) => lead + "return" + " ".repeat(all.length - lead.length - 6));
    if (exported !== source && compiles(exported) === "") {
      return { text: "(async function(){" + exported + "\n})", shift: 18, kind: "export" };
    }
    return { bad, source: exported, exported: exported !== source };
  }

  // prepare also takes TypeScript, when plain JavaScript does not parse.
  function prepare(source) {
    const plain = forms(source);
    if (plain.bad === undefined) return plain;
    const stripped = parse(strip("async function $b(){" + plain.source + "\n}"));
    if (stripped.code !== undefined) {
      const typed = forms(stripped.code);
      if (typed.bad === undefined) {
        if (plain.exported && typed.kind === "body") typed.kind = "export";
        return typed;
      }
    }
    return { bad: further(parse(plain.bad), stripped) };
  }

  // further picks the complaint that lies deeper in the text: the parser that
  // got further understood more.
  function further(plain, typed) {
    const p = { message: plain.message, line: plain.line, column: plain.line === 1 ? plain.column - 20 : plain.column };
    if (typed.message === undefined) return p;
    const t = { message: typed.message, line: typed.line, column: typed.line === 1 ? typed.column - 20 : typed.column };
    return t.line > p.line || (t.line === p.line && t.column > p.column) ? t : p;
  }

  function $bridge_start(source, options) {
    const given = parse(options);
    limits.log = given.logBytes; limits.result = given.resultBytes; limits.args = given.argsBytes;
    limits.inFlight = given.inFlight; limits.calls = given.calls;
    const ready = prepare(source);
    if (ready.bad !== undefined) {
      const at = ready.bad;
      sendFailure({ name: "SyntaxError", message: at.message, line: at.line, column: at.column > 0 ? at.column : 1, syntax: true });
      state = THREW;
      return false;
    }
    shift = ready.shift;
    const body = make(ready.text);
    watch(apply(body, undefined, []), ready.kind);
    return true;
  }

  function watch(promise, kind) {
    then(own(promise), (value) => {
      if (kind === "bare") {
        value = value[0];
        if (typeof value === "function") return watchCall(value);
        if (value === null || typeof value !== "object" || getPrototypeOf(value) !== PromiseProto) value = undefined;
        else return watch(value, "body");
      } else if (kind === "export" && typeof value === "function") {
        return watchCall(value);
      }
      state = RETURNED;
      outcome = value;
    }, (e) => { state = THREW; outcome = e; });
  }

  function watchCall(f) {
    watch(new PromiseC(function $bridge_callBody(resolve) { resolve(apply(f, undefined, [])); }), "body");
  }

  // idle is asked when no job is left. It returns true when the run is over.
  function $bridge_idle() {
    if (inFlight > 0) return false;
    over = true;
    try {
      if (state === RETURNED) report(outcome);
      else if (state === THREW) reportError(outcome);
      else send(FAILURE, '{"name":"Error","dead":true,"message":"the code waits for a promise that nothing can settle"}');
    } catch (e) {
      reportError(e);
    }
    return true;
  }

  function $bridge_stringifyText(value) { return stringify(value); }

  function report(value) {
    const json = $bridge_toJSON(value, false);
    if (fits(json, limits.result)) {
      send(RESULT, '{"value":' + json + "}");
      return;
    }
    const part = cut(json, limits.result, (s) => size($bridge_stringifyText(s)));
    send(RESULT, '{"value":' + stringify(part) + ',"bytes":' + size(json) + "}");
  }

  function reportError(e) {
    const out = { __proto__: null, name: "Error", message: "" };
    try {
      if ((typeof e === "object" && e !== null) || typeof e === "function") {
        if (isError(e)) {
          out.name = slice(text(e.name), 0, 200);
          out.message = slice(text(e.message), 0, 8192);
          const code = e.code;
          if (typeof code === "string") out.code = slice(code, 0, 100);
        } else {
          out.name = "Thrown";
          out.message = slice($bridge_show(e), 0, 8192);
        }
        const stack = e.stack;
        if (typeof stack === "string") {
          const bounded = slice(stack, 0, 16384);
          const at = position(bounded);
          if (at !== null) { out.line = at.line; out.column = at.column; }
          out.stack = frames(bounded);
        }
      } else {
        out.name = "Thrown";
        out.message = slice(text(e), 0, 8192);
      }
    } catch {
      if (out.message === "") out.message = "an error that cannot be read";
    }
    sendFailure(out);
  }

  // sendFailure writes its message without serialising an object, which would
  // run code of the body's if that changed Array.prototype.
  function sendFailure(out) {
    let json = '{"name":' + stringify(out.name) + ',"message":' + stringify(out.message);
    if (typeof out.stack === "string") json += ',"stack":' + stringify(out.stack);
    if (typeof out.code === "string") json += ',"code":' + stringify(out.code);
    if (out.line > 0) json += ',"line":' + out.line + ',"column":' + out.column;
    if (out.syntax === true) json += ',"syntax":true';
    send(FAILURE, json + "}");
  }

  // frames keeps the body's own lines of a stack, placed in the body's text.
  function frames(stack) {
    let out = "", from = 0, n = 0;
    while (from < stack.length && n < 20) {
      let end = indexOf(stack, "\n", from);
      if (end < 0) end = stack.length;
      const frame = slice(stack, from, end);
      from = end + 1;
      const at = position(frame);
      if (at === null) continue;
      let name = "";
      const word = indexOf(frame, "at "), paren = indexOf(frame, " (");
      if (word >= 0 && paren > word) name = slice(frame, word + 3, paren > word + 103 ? word + 103 : paren);
      if (name === "<anonymous>" || name === "<eval>") name = "";
      out += (n++ > 0 ? "\n" : "") + "at " + (name === "" ? "" : name + " ") + "line " + at.line + ":" + at.column;
    }
    return out;
  }

  // ---- what the body sees ----
  const global = globalThis;
  function refuse(name) {
    const message = name + ": code from strings is not available here; write the code itself, and use openclaw.tools to reach tools";
    return function $bridge_refuse() { throw new EvalErrorC(message); };
  }
  const makers = [
    ["Function", function () {}],
    ["AsyncFunction", async function () {}],
    ["GeneratorFunction", function* () {}],
    ["AsyncGeneratorFunction", async function* () {}],
  ];
  for (let i = 0; i < makers.length; i++) {
    const proto = getPrototypeOf(makers[i][1]);
    const blocked = refuse(makers[i][0]);
    defineProperty(blocked, "prototype", { __proto__: null, value: proto, writable: false });
    defineProperty(proto, "constructor", { __proto__: null, value: blocked, writable: false, configurable: false, enumerable: false });
    if (i === 0) defineProperty(global, "Function", { __proto__: null, value: blocked, writable: false, configurable: false, enumerable: false });
  }
  defineProperty(global, "eval", { __proto__: null, value: refuse("eval"), writable: false, configurable: false, enumerable: false });

  const language = create(null);
  for (const name of ("globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape " +
    "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function " +
    "Int8Array Int16Array Int32Array Intl Iterator Map Number Object Promise Proxy RangeError ReferenceError RegExp Set String SuppressedError Symbol SyntaxError Temporal TypeError " +
    "URIError Uint8Array Uint8ClampedArray Uint16Array Uint32Array WeakMap WeakRef WeakSet JSON Math Reflect").split(" ")) language[name] = true;
  for (const name of ownKeys(global)) {
    if (language[name] !== true) deleteProperty(global, name);
  }
  // A stack formatter of the body's own would be handed the bridge's frames.
  defineProperty(ErrorC, "prepareStackTrace", { __proto__: null, value: host.v8 ? $bridge_formatStack : undefined, writable: false, configurable: false, enumerable: false });

  const openclaw = { __proto__: null };
  fix(openclaw, "tools", freeze(tools));
  // The names are constants of the global scope, which nothing can change, and
  // properties of the global object, for who looks there.
  set(global, "$bridge_names", [freeze(openclaw), freeze(consoleObject)]);
  make("const openclaw = $bridge_names[0], console = $bridge_names[1];");
  deleteProperty(global, "$bridge_names");
  fix(global, "openclaw", openclaw);
  fix(global, "console", consoleObject);

  return { __proto__: null, start: $bridge_start, deliver: $bridge_deliver, idle: $bridge_idle };
})
