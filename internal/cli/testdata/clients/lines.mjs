// A client under test reads one turn per line from stdin and writes one line
// about how it went.
import { createInterface } from 'node:readline';

// Of the turn that is going on.
let controller;
let heard;

/** answer runs each turn through the function of its API. */
export async function answer(apis) {
  for await (const line of createInterface({ input: process.stdin })) {
    const turn = JSON.parse(line);
    if (turn.abort) controller.abort();
    else if (turn.copy) kept.set(turn.copy.to, structuredClone(kept.get(turn.copy.from)));
    else play(apis, turn); // it may be aborted meanwhile
  }
}

async function play(apis, turn) {
  let said;
  try {
    controller = new AbortController();
    heard = null;
    said = await apis[turn.api](turn, controller.signal);
  } catch (e) {
    said = { error: describe(e), deltas: heard?.deltas };
  }
  process.stdout.write(JSON.stringify(said) + '\n');
}

/** describe tells what a client makes of a failure. */
export function describe(e) {
  return {
    kind: e?.constructor?.name ?? typeof e,
    name: e?.name,
    status: e?.status ?? e?.statusCode,
    message: String(e?.message ?? e),
    retryAfter: e?.headers?.get?.('retry-after') ?? e?.responseHeaders?.['retry-after'],
  };
}

const kept = new Map();

/** conversation returns the messages so far. */
export function conversation({ conversation: name }) {
  if (!kept.has(name)) kept.set(name, []);
  return kept.get(name);
}

/** Heard notes what a stream tells, and aborts it at the first text if asked to. */
export class Heard {
  deltas = [];
  events = [];

  constructor(turn) {
    heard = this;
    this.abort = turn.abortAtText;
  }

  event(type) {
    if (this.events.at(-1) !== type) this.events.push(type);
  }

  text(delta) {
    this.deltas.push(delta);
    if (this.abort) controller.abort();
  }
}
