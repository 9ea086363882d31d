// A published JavaScript client goes on while its server is killed and stopped, again and again.
//
// Usage: node restart.mjs sdk1|sdk117|sdk|ai legacy|modern PROGRAM ROUNDS
//
// In the older era the client has its session alone, and passes no handle. An answer may cost one
// retry. `sdk117` opens its stream of pushes again only after an error, and hears what is said after each
// restart.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const GUARD_MS = 30_000;
const [library, era, program, rounds] = process.argv.slice(2);

/** The server on one folder and one port, over all its restarts. */
class Server {
  static async create(folder) {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address();
    free.close();
    await once(free, 'close');
    return Object.assign(new Server(), { folder, port, base: `http://127.0.0.1:${port}` });
  }

  async start() {
    const listen = ['--listen', `127.0.0.1:${this.port}`, '--data', this.folder];
    this.process = spawn(program, [...listen, '--limit', 'stick=optional'], { stdio: 'ignore' });
    const until = Date.now() + GUARD_MS;
    while (!(await this.listens())) {
      assert.ok(Date.now() < until && this.process.exitCode === null, 'it did not start');
      await setTimeout(10);
    }
  }

  async listens() {
    const socket = connect(this.port, '127.0.0.1');
    const opened = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).then(
      (of) => of.length === 0,
      () => false,
    );
    socket.destroy();
    return opened;
  }

  async stop(signal) {
    const exited = once(this.process, 'exit');
    this.process.kill(signal);
    await exited;
  }

  async post(path, handle, body) {
    const headers = { 'Content-Type': 'application/json', ...(handle && { 'Chat-Handle': handle }) };
    const answer = await fetch(this.base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  }
}

/** What a client was pushed, for clients that are asked to listen. */
const pushed = new Set();

/** What calls tools. */
async function client(url) {
  const about = { name: 'talking-stick-test', version: '1' };
  if (library === 'sdk117') {
    const { Client } = await import('sdk117/client/index.js');
    const { StreamableHTTPClientTransport } = await import('sdk117/client/streamableHttp.js');
    const capabilities = { experimental: { 'org.talking-stick/events': {} } };
    const old = new Client(about, { capabilities });
    old.fallbackNotificationHandler = async ({ params }) => pushed.add(params.message);
    const often = { initialReconnectionDelay: 100, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1.5, maxRetries: 100 };
    await old.connect(new StreamableHTTPClientTransport(new URL(url), { reconnectionOptions: often }));
    return (tool, args) => old.callTool({ name: tool, arguments: args });
  }
  if (library === 'sdk1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const first = new Client(about);
    await first.connect(new StreamableHTTPClientTransport(new URL(url)));
    return (tool, args) => first.callTool({ name: tool, arguments: args });
  }
  if (library === 'ai') {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const tools = await (await createMCPClient({ transport: { type: 'http', url } })).tools();
    return (tool, args) => tools[tool].execute(args, { toolCallId: tool, messages: [] });
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const versionNegotiation = { mode: { legacy: 'legacy', modern: { pin: '2026-07-28' } }[era] };
  const second = new Client(about, { versionNegotiation });
  await second.connect(new StreamableHTTPClientTransport(new URL(url)));
  return (tool, args) => second.callTool({ name: tool, arguments: args });
}

async function heard(message) {
  const until = Date.now() + GUARD_MS;
  for (; !pushed.has(message); await setTimeout(20)) assert.ok(Date.now() < until, `never pushed: ${message}`);
}

async function converse(server) {
  const ben = (await server.post('/register', '', { username: 'ben' })).handle;
  const callTool = await client(`${server.base}/mcp`);
  const call = async (tool, args) => {
    const result = await callTool(tool, args);
    assert.ok(!result.isError, result.content[0].text);
    return result.structuredContent;
  };
  const me = await call('login', { username: 'ann' });
  const named = era === 'legacy' ? {} : { handle: me.handle };
  if (library === 'sdk117') {
    // It opens its stream on its own time. A stream that opens behind an answered check begins there.
    await server.post('/send', ben, { message: 'ready' });
    await heard('ready');
  }
  let after = (await call('check', { ...named, wait_seconds: 0 })).cursor;
  let retried = 0;
  for (let n = 0; n < Number(rounds); n += 1) {
    await server.post('/send', ben, { message: `message ${n}` });
    await server.stop(n % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await server.start();
    const args = { ...named, after, wait_seconds: 0 };
    const page = await call('check', args).catch((error) => {
      console.error(`repeated after ${error}`);
      retried += 1;
      return call('check', args);
    });
    const texts = page.events.flatMap((event) => event.message ?? []);
    // A stream that goes on acknowledges what it has pushed.
    if (library !== 'sdk117') assert.deepEqual(texts, [`message ${n}`]);
    after = page.cursor;
    if (library === 'sdk117') {
      await server.post('/send', ben, { message: `pushed ${n}` });
      await heard(`message ${n}`);
      await heard(`pushed ${n}`);
      after = (await call('check', { after, wait_seconds: 0 })).cursor;
    }
  }
  const again = await call('login', { ...named, username: 'ann' });
  assert.equal(again.user_id, me.user_id);
  return retried;
}

const folder = mkdtempSync(join(tmpdir(), 'restart-'));
const server = await Server.create(folder);
let retried;
try {
  await server.start();
  retried = await converse(server);
} finally {
  server.process?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
console.log(`${library}, ${era}: ${rounds} restarts, ${retried} calls repeated once, 0 failed`);
process.exit(0);
