// The child's side of the protocol when the engine is node: what package child
// does in Go for the embedded engine. It runs in node's own realm, the prelude
// and the guest in another; nothing but strings and numbers goes between them.
"use strict";
((prelude, ready) => {
  const { readSync, writeSync } = require("node:fs");
  const { Script, createContext, constants } = require("node:vm");
  const { stripTypeScriptTypes } = require("node:module");
  const { exit } = process;
  const fromText = Buffer.from, bytes = Buffer.alloc, concat = Buffer.concat, byteLength = Buffer.byteLength;

  const READY = 16, STARTED = 17, RUN = 1, REPLY = 2, FAULT = 3, MAX = 8 << 20;
  const FILE = { filename: "<eval>" };

  function fail(text, code) {
    writeSync(2, "toolsearch code child: " + text + "\n");
    exit(code);
  }

  function writeAll(buffer) {
    for (let at = 0; at < buffer.length;) at += writeSync(4, buffer, at, buffer.length - at);
  }

  let lastID = 0;
  function send(type, text) {
    const payload = fromText(text, "utf8");
    const head = bytes(12);
    head.writeUInt32LE(payload.length, 0);
    head.writeUInt32LE(type, 4);
    head.writeUInt32LE(++lastID, 8);
    writeAll(concat([head, payload]));
    return lastID;
  }

  function readAll(n) {
    const buffer = bytes(n);
    for (let at = 0; at < n;) {
      const got = readSync(3, buffer, at, n - at, null);
      if (got === 0) exit(0); // the runner has no more use for this child
      at += got;
    }
    return buffer;
  }

  function receive() {
    const head = readAll(12);
    const length = head.readUInt32LE(0);
    if (length > MAX) fail("a frame is too long", 4);
    return { type: head.readUInt32LE(4), id: head.readUInt32LE(8), text: readAll(length).toString("utf8") };
  }

  // complaint reads line and column from what V8 writes above the error:
  // "<eval>:line", the line, and a row of ^ under the place.
  function complaint(e) {
    const out = { message: String(e.message), line: 1, column: 1 };
    const rows = String(e.stack).split("\n");
    const at = /^<eval>:(\d+)$/.exec(rows[0]);
    if (at !== null) {
      out.line = Number(at[1]);
      const caret = (rows[2] || "").indexOf("^");
      if (caret >= 0) out.column = caret + 1;
    }
    return JSON.stringify(out);
  }

  const realm = createContext(constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false }, microtaskMode: "afterEvaluate" });
  const nothing = new Script("0");
  const host = {
    __proto__: null,
    v8: true,
    send,
    ask: (type, first, rest) => send(type, "[" + JSON.stringify(first) + (rest === "" ? "]" : "," + rest + "]")),
    compile(source) {
      try {
        new Script(source, FILE);
        return "";
      } catch (e) {
        return complaint(e);
      }
    },
    make: (source) => new Script(source, FILE).runInContext(realm),
    strip(source) {
      try {
        const whole = stripTypeScriptTypes(source);
        return JSON.stringify({ code: whole.slice(whole.indexOf("{") + 1, whole.lastIndexOf("}")) });
      } catch (e) {
        return JSON.stringify({ message: String(e.message), line: 0, column: 0 });
      }
    },
    size: (text) => byteLength(text, "utf8"),
    locate: (line, column) => line + ":" + column,
  };
  // A function of the guest's realm may throw something of the guest's: it is
  // not looked at.
  function enter(f, a, b) {
    try {
      const answer = f(a, b);
      nothing.runInContext(realm); // runs the jobs that are queued in that realm
      return answer;
    } catch {
      return fail("the prelude failed", 4);
    }
  }

  const { start, deliver, idle } = new Script(prelude, { filename: "<bridge>" }).runInContext(realm)(host);
  send(READY, JSON.stringify({ protocol: 1, engine: "node " + process.version, layers: ready }));

  const first = receive();
  if (first.type !== RUN) fail("the first frame is not the code", 4);
  const run = JSON.parse(first.text);
  send(STARTED, "null");
  const source = run.code;
  run.code = "";
  if (enter(start, source, JSON.stringify(run)) !== true) exit(0);
  while (enter(idle) !== true) {
    const frame = receive();
    if (frame.type !== REPLY && frame.type !== FAULT) fail("a frame is not a reply", 4);
    enter(deliver, frame.type === REPLY ? frame.id : -frame.id, frame.text);
  }
  exit(0);
})
