// The AI SDK, with its providers for each API.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { Heard, answer, conversation } from './lines.mjs';

async function run(turn, signal, model, hosted) {
  const messages = conversation(turn);
  if (turn.say) messages.push({ role: 'user', content: turn.say });
  if (turn.answers) {
    messages.push({
      role: 'tool',
      content: turn.answers.map((a) => ({ type: 'tool-result', toolCallId: a.id, toolName: a.name, output: { type: 'text', value: a.text } })),
    });
  }
  const heard = new Heard(turn);
  const ran = [];
  const tools = Object.fromEntries((turn.tools ?? []).map((t) => [t.name, tool({
    description: t.description,
    inputSchema: jsonSchema(t.parameters),
    ...(t.defer && { providerOptions: { anthropic: { deferLoading: true }, openai: { deferLoading: true } } }),
    // With "runs" the SDK itself calls the tool and goes on.
    ...(turn.runs && { execute: async (args) => { ran.push(args); return turn.runs; } }),
  })]));
  if (turn.hosted) tools.search = hosted;
  const params = { model, messages, tools, maxRetries: 0, stopWhen: isStepCount(turn.runs ? 5 : 1), abortSignal: signal };
  let result;
  if (turn.stream) {
    const stream = streamText({ ...params, onError: () => {} });
    for await (const part of stream.stream) {
      heard.event(part.type);
      if (part.type === 'text-delta') heard.text(part.text);
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw Object.assign(new Error('aborted'), { name: 'AbortError' });
    }
    result = {};
    for (const key of ['text', 'toolCalls', 'finishReason', 'usage', 'response', 'responseMessages']) result[key] = await stream[key];
  } else {
    result = await generateText(params);
  }
  messages.push(...result.responseMessages);
  return {
    id: result.response.id,
    model: result.response.modelId,
    text: result.text,
    calls: result.toolCalls.filter((c) => !c.providerExecuted).map((c) => ({ id: c.toolCallId, name: c.toolName, args: c.input })),
    stop: result.finishReason,
    usage: { input: result.usage.inputTokens, output: result.usage.outputTokens },
    deltas: heard.deltas,
    events: heard.events,
    ran,
  };
}

const openai = (turn) => createOpenAI({ baseURL: turn.url + '/v1', apiKey: turn.key });
const anthropic = (turn) => createAnthropic({ baseURL: turn.url + '/v1', apiKey: turn.key });
const compatible = (turn) => createOpenAICompatible({ name: 'toolsearch', baseURL: turn.url + '/v1', apiKey: turn.key, includeUsage: true });

await answer({
  chat: (turn, signal) => run(turn, signal, openai(turn).chat(turn.model)),
  responses: (turn, signal) => run(turn, signal, openai(turn).responses(turn.model), openai(turn).tools.toolSearch()),
  messages: (turn, signal) => run(turn, signal, anthropic(turn)(turn.model), anthropic(turn).tools.toolSearchBm25_20251119()),
  compatible: (turn, signal) => run(turn, signal, compatible(turn)(turn.model)),
});
