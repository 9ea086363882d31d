// A scripted model: an HTTP server on loopback that speaks the APIs of the programs, and behind it an agent that says
// its lines. It knows of the chat only what its program shows its model, and makes the call that a result names next.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** The answers of one agent that a talk can need. More are a loop. */
const MOST_ANSWERS = 80;

/** The answers that a sleeper needs for each message. */
const ANSWERS_EACH = 4;

/** The message of an event, as the two forms of a result show it. */
const SAID = /^\[\d+\] \S+ [^:]*: <([\w-]+)>(.*)<\/\1>$/gm;

/** A call in the words of a lead: a tool, and arguments as JSON. */
const CALL = /\b(send_message|speak|check)\b(?: (\{[^{}]*\}))?/g;

/** What the two forms of a result say: the next call, the messages of others, the code of a refusal, and whether a wait
 * brought nothing. */
const FORMS = {
  json(result) {
    let said;
    try {
      said = JSON.parse(result.slice(result.indexOf('{')));
    } catch {
      return {};
    }
    const heard = (said.events ?? []).filter((event) => event.type === 'message.received');
    const { next_call: lead, code: refused } = said.error ?? said;
    return { lead, heard: heard.map((event) => event.message), refused, isIdle: said.events?.length === 0 };
  },
  text(result) {
    const lead = result.match(/^next: (.*)$/m)?.[1];
    const refused = result.match(/^Refused \((\w+)\)/m)?.[1];
    const heard = [...result.matchAll(SAID)].map((said) => said[2]);
    return { lead, heard, refused, isIdle: /^Nothing new\.$/m.test(result) };
  },
};

/** One agent of a talk. */
export class Agent {
  heard = [];
  refused = [];
  results = [];
  repeated = 0;
  idle = 0;
  answers = 0;
  mostAnswers = MOST_ANSWERS;
  said = 0;

  /** `first` is its first call. It speaks `lines`, one for each that it hears; who begins speaks first. */
  constructor({ name, begins, lines, form, first, repeats }) {
    Object.assign(this, { name, begins, lines, form, repeats });
    this.call = first;
    this.present = deferred();
  }

  get bytes() {
    return this.results.reduce((sum, result) => sum + Buffer.byteLength(result), 0);
  }

  get isDone() {
    return this.said === this.lines.length && this.heard.length >= this.lines.length;
  }

  /** Reads all results of the talk so far. A program repeats requests, so some may have been read. */
  read(results) {
    const fresh = results.slice(this.results.length);
    for (const result of fresh) {
      this.results.push(result);
      const { lead, heard = [], refused, isIdle } = FORMS[this.form](result);
      this.heard.push(...heard);
      this.refused.push(...(refused === undefined ? [] : [refused]));
      this.idle += isIdle ? 1 : 0;
      this.present.resolve();
      if (lead === undefined) this.repeat(result);
      else this.call = this.isDone ? undefined : this.follow(lead, result);
    }
  }

  /** The first call of the lead that it can make: it speaks only when it has a line to say now. */
  follow(lead, result) {
    const isHeard = this.heard.length + (this.begins ? 1 : 0) > this.said;
    for (const [, tool, args = '{}'] of lead.matchAll(CALL)) {
      if (tool === 'check') return { tool, args: JSON.parse(args) };
      if (isHeard && this.said < this.lines.length) {
        const message = this.lines[this.said];
        this.said += 1;
        // The last words need no answer, so nothing is waited for.
        const wait = tool === 'speak' && this.isDone ? { wait_seconds: 0 } : {};
        return { tool, args: { ...JSON.parse(args), message, request_key: randomUUID(), ...wait } };
      }
    }
    throw new Error(`${this.name} is led nowhere by: ${result}`);
  }

  /** No answer of the server: the same call again, with its request key, where the talk permits it. */
  repeat(result) {
    this.repeated += 1;
    if (this.repeated > this.repeats) throw new Error(`${this.name} is led nowhere by: ${result}`);
  }
}

/** One agent that registers, ends its turn, and calls only after it was woken, until its model is asked to leave. */
export class Sleeper {
  heard = [];
  results = [];
  answers = 0;
  isLeaving = false;

  /** `first` registers it. It is woken for so many messages. */
  constructor({ name, form, first, messages }) {
    Object.assign(this, { name, form, call: first });
    this.mostAnswers = MOST_ANSWERS + ANSWERS_EACH * messages;
    this.started = deferred();
    this.asleep = deferred();
    this.woken = deferred();
  }

  read(results) {
    this.started.resolve(performance.now());
    if (this.call === undefined) {
      this.woken.resolve(performance.now());
      this.asleep = deferred();
      this.call = this.isLeaving ? { tool: 'leave_chat', args: {} } : this.check;
    }
    for (const result of results.slice(this.results.length)) {
      this.results.push(result);
      const { lead = '', heard = [], refused } = FORMS[this.form](result);
      assert.equal(refused, undefined, result);
      this.heard.push(...heard);
      const args = lead.match(/\bcheck (\{[^{}]*\})/)?.[1];
      this.check = { tool: 'check', args: { ...JSON.parse(args ?? '{}'), wait_seconds: 0 } };
      this.call = undefined;
    }
    if (this.call === undefined) {
      this.woken = deferred();
      this.asleep.resolve();
    }
  }
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}

/** The text of a content, which is a text or a list of parts. */
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');

const started = (part) => ({ ...part, ...(part.type === 'text' ? { text: '' } : { input: {} }) });

/**
 * The APIs. Each tells the names of the offered tools and the results of the chat's tools from a request, and makes
 * the events of an answer, which is a text or the call of a tool.
 */
const APIS = {
  responses: {
    path: /\/responses$/,
    tools: ({ tools = [] }) =>
      tools.flatMap(({ name, type, tools: own }) =>
        type === 'namespace' ? own.map((tool) => ({ name: tool.name, namespace: name })) : [{ name }],
      ),
    results: ({ input }) =>
      input.filter((item) => item.type === 'function_call_output').map(({ output }) => textOf(output)),
    answer(id, { text, tool, args }) {
      const call = () => ({ type: 'function_call', call_id: id, ...tool, arguments: JSON.stringify(args) });
      const content = [{ type: 'output_text', text, annotations: [] }];
      const item = tool ? call() : { type: 'message', role: 'assistant', id, content };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      return [
        { type: 'response.created', response: { id } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id, usage } },
      ];
    },
  },
  messages: {
    path: /\/messages$/,
    tools: ({ tools = [] }) => tools,
    results: ({ messages }) =>
      messages
        .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
        .filter((part) => part.type === 'tool_result' && !part.tool_use_id.startsWith('search'))
        .map(({ content }) => textOf(content)),
    answer(id, { text, tool, args }) {
      const usage = { input_tokens: 1, output_tokens: 1 };
      const part = tool ? { type: 'tool_use', id, name: tool.name } : { type: 'text' };
      const delta = tool
        ? { type: 'input_json_delta', partial_json: JSON.stringify(args) }
        : { type: 'text_delta', text };
      const message = { id, type: 'message', role: 'assistant', model: 'scripted', content: [], usage };
      const stop_reason = tool ? 'tool_use' : 'end_turn';
      return [
        { type: 'message_start', message: { ...message, stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: started(part) },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
        { type: 'message_stop' },
      ];
    },
  },
  chat: {
    path: /\/chat\/completions$/,
    tools: ({ tools = [] }) => tools.map((tool) => ({ name: tool.function.name })),
    results: ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
    answer(id, { text, tool, args }) {
      const call = () => ({ name: tool.name, arguments: JSON.stringify(args) });
      const delta = tool ? { tool_calls: [{ index: 0, id, type: 'function', function: call() }] } : { content: text };
      const chunk = (choice) => ({
        id,
        object: 'chat.completion.chunk',
        created: 0,
        model: 'scripted',
        choices: [{ index: 0, finish_reason: null, ...choice }],
      });
      return [
        chunk({ delta: { role: 'assistant', ...delta } }),
        chunk({ delta: {}, finish_reason: tool ? 'tool_calls' : 'stop' }),
        '[DONE]',
      ];
    },
  },
  gemini: {
    path: /:(streamGenerate|generate)Content$/,
    tools: ({ tools = [] }) => tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),
    results: ({ contents }) =>
      contents
        .flatMap(({ parts = [] }) => parts)
        .flatMap(({ functionResponse }) => functionResponse ?? [])
        .map(({ response }) => response.output ?? response.error ?? JSON.stringify(response)),
    answer(id, { text, tool, args }) {
      const part = tool ? { functionCall: { id, name: tool.name, args } } : { text };
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      const candidates = [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }];
      return [{ candidates, usageMetadata }];
    },
  },
};

/** The model of a talk's agents, each at a path with its name. */
export class Model {
  agents = new Map();
  /** What programs asked of other hosts, in vain. */
  outside = [];
  failed = deferred();

  static async start() {
    const model = new Model();
    const server = createServer((request, response) => model.serve(request, response));
    // Programs are told to use it as their proxy: what they ask of other hosts comes here.
    server.on('connect', ({ url }, socket) => {
      model.outside.push(url);
      socket.on('error', () => {});
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    model.url = `http://127.0.0.1:${server.address().port}`;
    return model;
  }

  /** Adds an agent. `before` is awaited before each of its answers. */
  add(agent, before) {
    this.agents.set(agent.name, { agent, before });
    return `${this.url}/${agent.name}`;
  }

  /** Fails the talk, and says what each agent was told last, and does. */
  stop(why) {
    const last = ({ agent: { name, results, call } }) => `${name}: ${results.at(-1)}\n=> ${JSON.stringify(call)}`;
    this.failed.resolve(new Error([why, ...[...this.agents.values()].map(last)].join('\n')));
  }

  async serve(request, response) {
    const { pathname, host } = new URL(request.url, this.url);
    if (host !== new URL(this.url).host) this.outside.push(request.url);
    const found = this.agents.get(pathname.split('/')[1]);
    const api = Object.values(APIS).find(({ path }) => path.test(pathname));
    if (found === undefined || api === undefined || request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    try {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      const answer = await this.answer(api, found, body);
      stream(response, api.answer(`${answer.id}-${randomUUID()}`, answer));
    } catch (error) {
      this.failed.resolve(error);
      response.writeHead(400).end();
    }
  }

  async answer(api, { agent, before }, body) {
    const offered = api.tools(body);
    // Programs have other uses for a model, such as a title.
    if (offered.length === 0) return { id: 'other', text: 'A talk' };
    agent.answers += 1;
    assert.ok(agent.answers <= agent.mostAnswers, `${agent.name} goes round in circles: ${agent.results.at(-1)}`);
    agent.read(api.results(body));
    await before(agent);
    if (agent.call === undefined) return { id: 'end', text: 'The talk is over.' };
    const { tool: wanted, args } = agent.call;
    const isWanted = new RegExp(`talking[-_]stick_+${wanted}$`);
    const tool = offered.find(({ namespace, name }) => isWanted.test(namespace ? `${namespace}__${name}` : name));
    if (tool !== undefined) {
      const { name, namespace } = tool;
      return { id: 'call', tool: { name, ...(namespace && { namespace }) }, args };
    }
    // Claude Code shows the names alone, and a tool once it was searched for.
    const search = offered.find(({ name }) => name === 'ToolSearch');
    assert.ok(search, `${agent.name} is not offered ${wanted}`);
    const query = `select:mcp__talking-stick__${wanted}`;
    return { id: 'search', tool: { name: search.name }, args: { query, max_results: 1 } };
  }
}

function stream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    if (event.type !== undefined) response.write(`event: ${event.type}\n`);
    response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}
