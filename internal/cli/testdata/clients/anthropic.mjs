// The official Anthropic client: Messages, and its beta side.
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { Heard, answer, conversation } from './lines.mjs';

async function messages(turn, signal, api) {
  const said = conversation(turn);
  const content = (turn.answers ?? []).map((a) => ({ type: 'tool_result', tool_use_id: a.id, content: a.text }));
  if (turn.say) content.push({ type: 'text', text: turn.say });
  if (content.length) said.push({ role: 'user', content });
  const params = {
    model: turn.model,
    max_tokens: 1000,
    messages: said,
    tools: turn.tools?.map(({ defer, parameters, ...t }) => ({ ...t, input_schema: parameters, ...(defer && { defer_loading: true }) })),
    ...(turn.betas && { betas: turn.betas }),
  };
  if (params.tools && turn.hosted) params.tools.unshift(...turn.hosted);
  const heard = new Heard(turn);
  let message;
  if (turn.stream) {
    const stream = api.stream(params, { signal });
    for await (const event of stream) {
      heard.event(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') heard.text(event.delta.text);
    }
    message = await stream.finalMessage();
  } else {
    message = await api.create(params, { signal });
  }
  said.push({ role: 'assistant', content: message.content });
  return {
    id: message.id,
    model: message.model,
    text: message.content.filter((b) => b.type === 'text').map((b) => b.text).join(''),
    calls: message.content.filter((b) => b.type === 'tool_use').map((b) => ({ id: b.id, name: b.name, args: b.input })),
    stop: message.stop_reason,
    usage: { input: message.usage.input_tokens, output: message.usage.output_tokens },
    deltas: heard.deltas,
    events: heard.events,
    blocks: message.content,
  };
}

// With "runs" the SDK itself calls the tools and goes on.
async function runner(turn, signal, api) {
  const ran = [];
  const tools = turn.tools.map(({ parameters, defer, ...t }) => betaTool({ ...t, inputSchema: parameters, run: (args) => { ran.push(args); return turn.runs; } }));
  const params = { model: turn.model, max_tokens: 1000, messages: [{ role: 'user', content: turn.say }], tools, stream: turn.stream };
  const message = await api.toolRunner(params, { signal }).runUntilDone();
  return { text: message.content.filter((b) => b.type === 'text').map((b) => b.text).join(''), stop: message.stop_reason, ran };
}

async function models(turn) {
  const ids = [];
  for await (const model of connect(turn).models.list({ limit: 2 })) ids.push(model.id);
  return { text: ids.join(' '), model: (await connect(turn).models.retrieve(turn.model)).id };
}

const connect = (turn) => new Anthropic({ baseURL: turn.url, apiKey: turn.key, maxRetries: 0 });

await answer({
  models,
  messages: (turn, signal) => messages(turn, signal, connect(turn).messages),
  beta: (turn, signal) => {
    const api = connect(turn).beta.messages;
    if (turn.runs) return runner(turn, signal, api);
    return messages({ ...turn, betas: ['advanced-tool-use-2025-11-20'] }, signal, api);
  },
});
