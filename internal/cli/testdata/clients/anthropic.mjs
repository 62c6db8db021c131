// The official Anthropic client: Messages, and its beta side.
import Anthropic from '@anthropic-ai/sdk';
import { Heard, answer, conversation } from './lines.mjs';

async function messages(turn, api) {
  const said = conversation(turn.conversation);
  const content = (turn.answers ?? []).map((a) => ({ type: 'tool_result', tool_use_id: a.id, content: a.text }));
  if (turn.say) content.push({ type: 'text', text: turn.say });
  if (content.length) said.push({ role: 'user', content });
  const params = {
    model: turn.model,
    max_tokens: 1000,
    messages: said,
    tools: turn.tools?.map(({ defer, parameters, ...t }) => ({ ...t, input_schema: parameters, ...(defer && { defer_loading: true }) })),
    ...turn.extra,
  };
  if (params.tools && turn.hosted) params.tools.unshift(...turn.hosted);
  const heard = new Heard(turn);
  let message;
  if (turn.stream) {
    const stream = api.stream(params, { signal: heard.controller.signal });
    for await (const event of stream) {
      heard.event(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') heard.text(event.delta.text);
    }
    message = await stream.finalMessage();
  } else {
    message = await api.create(params);
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

const connect = (turn) => new Anthropic({ baseURL: turn.url, apiKey: turn.key, maxRetries: 0 });

await answer({
  messages: (turn) => messages(turn, connect(turn).messages),
  beta: (turn) => messages({ ...turn, extra: { betas: ['advanced-tool-use-2025-11-20'], ...turn.extra } }, connect(turn).beta.messages),
});
