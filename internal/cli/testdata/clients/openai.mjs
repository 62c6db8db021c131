// The official OpenAI client: Chat Completions and Responses.
import OpenAI from 'openai';
import { Heard, answer, conversation } from './lines.mjs';

const connect = (turn) => new OpenAI({ baseURL: turn.url + '/v1', apiKey: turn.key, maxRetries: 0 });

async function chat(turn, signal) {
  const messages = conversation(turn);
  if (turn.say) messages.push({ role: 'user', content: turn.say });
  for (const a of turn.answers ?? []) messages.push({ role: 'tool', tool_call_id: a.id, content: a.text });
  const params = {
    model: turn.model,
    messages,
    tools: turn.tools?.map(({ defer, ...f }) => ({ type: 'function', function: f, ...(defer && { defer_loading: true }) })),
  };
  const heard = new Heard(turn);
  let completion;
  if (turn.stream) {
    params.stream_options = { include_usage: true };
    const stream = connect(turn).chat.completions.stream(params, { signal });
    for await (const chunk of stream) {
      heard.event(chunk.object);
      const text = chunk.choices[0]?.delta?.content;
      if (text) heard.text(text);
    }
    completion = await stream.finalChatCompletion();
  } else {
    completion = await connect(turn).chat.completions.create(params, { signal });
  }
  const { message, finish_reason: stop } = completion.choices[0];
  messages.push(message);
  return {
    id: completion.id,
    model: completion.model,
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) })),
    stop,
    usage: { input: completion.usage.prompt_tokens, output: completion.usage.completion_tokens },
    deltas: heard.deltas,
    events: heard.events,
  };
}

const last = new Map(); // response ids, by conversation

async function responses(turn, signal) {
  const items = conversation(turn);
  const fresh = [];
  if (turn.say) fresh.push({ role: 'user', content: turn.say });
  for (const a of turn.answers ?? []) fresh.push({ type: 'function_call_output', call_id: a.id, output: a.text });
  items.push(...fresh);
  const params = {
    model: turn.model,
    input: turn.previous ? fresh : items,
    previous_response_id: turn.previous ? last.get(turn.conversation) : undefined,
    tools: turn.tools?.map(({ defer, ...f }) => ({ type: 'function', strict: false, ...f, ...(defer && { defer_loading: true }) })),
  };
  if (params.tools && turn.hosted) params.tools.push(...turn.hosted);
  const heard = new Heard(turn);
  let response;
  if (turn.stream) {
    const stream = connect(turn).responses.stream(params, { signal });
    let number = 0;
    for await (const event of stream) {
      if (event.sequence_number !== number++) throw new Error(`${event.type} has number ${event.sequence_number}, not ${number - 1}`);
      heard.event(event.type);
      if (event.type === 'response.output_text.delta') heard.text(event.delta);
    }
    response = await stream.finalResponse();
  } else {
    response = await connect(turn).responses.create(params, { signal });
  }
  last.set(turn.conversation, response.id);
  items.push(...response.output);
  return {
    id: response.id,
    model: response.model,
    text: response.output.flatMap((i) => (i.type === 'message' ? i.content : [])).map((c) => c.text).join(''),
    calls: response.output.filter((i) => i.type === 'function_call').map((c) => ({ id: c.call_id, name: c.name, args: JSON.parse(c.arguments) })),
    stop: response.status,
    usage: { input: response.usage?.input_tokens, output: response.usage?.output_tokens }, // none when it failed
    deltas: heard.deltas,
    events: heard.events,
    blocks: response.output.map(({ parsed, parsed_arguments, ...i }) => i),
  };
}

async function models(turn) {
  const ids = [];
  for await (const model of connect(turn).models.list()) ids.push(model.id);
  return { text: ids.join(' '), model: (await connect(turn).models.retrieve(turn.model)).id };
}

await answer({ chat, responses, models });
