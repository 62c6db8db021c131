// A client under test reads one turn per line from stdin and writes one line
// about how it went.
import { createInterface } from 'node:readline';

/** answer runs each turn through the function of its API. */
export async function answer(apis) {
  for await (const line of createInterface({ input: process.stdin })) {
    const turn = JSON.parse(line);
    let said;
    try {
      said = await apis[turn.api](turn);
    } catch (e) {
      said = { error: describe(e) };
    }
    process.stdout.write(JSON.stringify(said) + '\n');
  }
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

/** conversation returns the messages so far of a conversation by name. */
export function conversation(name) {
  if (!kept.has(name)) kept.set(name, []);
  return kept.get(name);
}

/** Heard notes the texts of a stream, and leaves it at the first one if asked to. */
export class Heard {
  controller = new AbortController();
  deltas = [];
  events = [];

  constructor(turn) {
    this.leave = turn.leave;
  }

  event(type) {
    if (this.events.at(-1) !== type) this.events.push(type);
  }

  text(delta) {
    this.deltas.push(delta);
    if (this.leave) this.controller.abort();
  }
}
