// Agent programs, as they are published, talk with each other through the real server: by the queue, in a room with a
// stick, and over the death of the server, each over HTTP and over stdio. They are connected as the book says.
//
// Usage: node talks.mjs SERVER BOOK PROGRAM,PROGRAM …

import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

import { Agent, Model } from './model.mjs';

/** The time limit of a talk, which guards against programs that hang. */
const GUARD_MS = 150_000;

const [serverProgram, bookFile, ...pairs] = process.argv.slice(2);
const book = readFileSync(bookFile, 'utf8').split('## Connect a client')[1].split('### stdio')[0];
const bin = resolve('node_modules/.bin');
const path = [dirname(resolve(serverProgram)), bin, resolve('node_modules/opencode-linux-x64/bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');

/** The programs: their heading in the book, the form of a result that they show, their set-up for the model at `url`,
 * and their command. */
const PROGRAMS = {
  codex: {
    title: 'Codex',
    form: 'json',
    model(home, url) {
      const provider = `name = "scripted"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`;
      const settings = 'model = "scripted"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n';
      const tables = `[analytics]\nenabled = false\n[features]\nplugins = false\n[model_providers.scripted]\n${provider}`;
      write(join(home, '.codex/config.toml'), settings + tables);
    },
    command: ['codex', 'exec', '--skip-git-repo-check'],
  },
  claude: {
    title: 'Claude Code',
    form: 'json',
    model: (_, url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
    command: ['claude', '-p', ...added('Claude Code'), '--'],
  },
  opencode: {
    title: 'OpenCode',
    form: 'text',
    model(home, url) {
      const options = { baseURL: `${url}/v1`, apiKey: 'none' };
      const scripted = { npm: '@ai-sdk/openai-compatible', options, models: { scripted: {} } };
      const settings = { model: 'scripted/scripted', provider: { scripted }, autoupdate: false, share: 'disabled' };
      write(join(home, '.config/opencode/opencode.json'), JSON.stringify(settings));
      // It installs a package for plugins in the background, and goes on without it.
      return { OPENCODE_DISABLE_MODELS_FETCH: '1', NPM_CONFIG_REGISTRY: url };
    },
    command: ['opencode', 'run'],
  },
  gemini: {
    title: 'Gemini CLI',
    form: 'text',
    model(home, url) {
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      };
      write(join(home, '.gemini/settings.json'), JSON.stringify(settings));
      return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' };
    },
    command: ['gemini', ...added('Gemini CLI'), '-p'],
  },
};

/** The answers of a model besides those that call a tool of the chat: the last, and Claude Code's searches for a tool. */
const MORE_ANSWERS = 4;

/** The name of the room. */
const ROOM = 'project';

/** The talks. Each agent makes `most` calls of the chat's tools at most, besides those that are repeated or whose
 * wait brings nothing, since a program may start slowly. */
const TALKS = [
  { name: 'pair', lines: 5, most: 14, first: (name) => ({ tool: 'enter_queue', args: { display_name: name } }) },
  { name: 'room', lines: 3, most: 6, first: (name) => ({ tool: 'login', args: { username: name, room: ROOM } }) },
  { name: 'restart', lines: 3, most: 12, first: (name) => ({ tool: 'enter_queue', args: { display_name: name } }) },
];

/** The real server on one folder. */
class Server {
  constructor(folder, door) {
    this.folder = folder;
    this.words = ['--data', join(folder, 'data'), '--log-level', 'warn'];
    if (door === 'http') this.words.push('--auth-tokens', join(folder, 'tokens'));
  }

  token(name) {
    return execFileSync(serverProgram, ['token', name, join(this.folder, 'tokens')], { encoding: 'utf8' }).trim();
  }

  async start(address = '127.0.0.1:0') {
    const words = [...this.words, '--listen', address];
    this.process = spawn(serverProgram, words, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    running.add(this.process.pid);
    const log = [];
    for await (const line of createInterface({ input: this.process.stderr })) {
      this.url = line.match(/listens on (\S+)/)?.[1];
      if (this.url !== undefined) {
        this.process.stderr.resume();
        return;
      }
      log.push(line);
    }
    throw new Error(`the server did not start: ${log.join('\n')}`);
  }

  /** Kills it, and starts it at its address. */
  async restart() {
    const { host } = new URL(this.url);
    await this.kill();
    await this.start(host);
  }

  async kill() {
    const exited = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exited;
    running.delete(this.process.pid);
  }

  async post(path, body, token, handle) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    if (handle !== undefined) headers['chat-handle'] = handle;
    const answer = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  }
}

/** A member of the room that only reads, by plain HTTP. */
class Watcher {
  static async join(server) {
    const watcher = Object.assign(new Watcher(), { server, token: server.tokens[2] });
    watcher.handle = (await watcher.login()).handle;
    return watcher;
  }

  login() {
    return this.server.post('/tools/login', { username: 'Watcher', room: ROOM }, this.token, this.handle);
  }

  async events() {
    const events = [];
    for (let after = 0; ; ) {
      const page = await this.server.post('/tools/check', { after, wait_seconds: 0 }, this.token, this.handle);
      if (page.events.length === 0) return events;
      events.push(...page.events);
      after = page.cursor;
    }
  }
}

/** The part of the book about a program. */
function chapter(title) {
  const found = book.split(/^\*\*/m).find((part) => part.startsWith(`${title}**`));
  assert.ok(found, `the book does not say how to connect ${title}`);
  return found;
}

/** The flag that the book adds to a program's command where nobody can approve tool calls. */
function added(title) {
  return chapter(title).match(/\badd\s+`(--[^`]+)`/)[1].split(' ');
}

/** The book's way to connect a program by this door, at the server's address. */
function connection(title, door, url) {
  const fences = [...chapter(title).matchAll(/^```(sh|json)\n([^]*?)^```$/gm)];
  const ways = fences.flatMap(([, language, text]) => (language === 'sh' ? text.trim().split('\n') : [text]));
  const way = ways.find((way) => way.includes('stdio') === (door === 'stdio'));
  assert.ok(way, `the book does not say how to connect ${title} over ${door}`);
  const at = way.replaceAll('http://127.0.0.1:8894', url);
  // The book's `auto` finds a server at the default address alone.
  return at.replace(/talking-stick stdio$/, `$& --connect ${url}`).replace('"stdio"]', `"stdio", "--connect", "${url}"]`);
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Programs that run now, each the first of a group. */
const running = new Set();

process.on('exit', () => running.forEach((pid) => killGroup(pid)));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(1));

function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All have ended.
  }
}

/** A program under a home of its own. */
class Installed {
  constructor(program, folder, token, url, model) {
    const home = join(folder, 'home');
    this.program = program;
    this.work = join(folder, 'work');
    mkdirSync(join(home, '.codex'), { recursive: true });
    mkdirSync(this.work);
    const proxy = { HTTP_PROXY: model, HTTPS_PROXY: model, http_proxy: model, https_proxy: model };
    const here = { NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
    this.env = { PATH: path, HOME: home, ...proxy, ...here, ...(token && { TALKING_STICK_TOKEN: token }) };
    this.home = home;
    Object.assign(this.env, program.model(home, url));
  }

  /** Connects it to the server as the book says: by its command, or in its file. */
  async connect(door, server) {
    const way = connection(this.program.title, door, server);
    if (!way.startsWith('{')) return this.run('sh', '-c', way);
    const file = chapter(this.program.title).match(/`~\/([^`]+)`/)[1];
    const settings = JSON.parse(readFileSync(join(this.home, file), 'utf8'));
    return write(join(this.home, file), JSON.stringify({ ...settings, ...JSON.parse(way) }));
  }

  /** Runs a command to its end. */
  async run(...command) {
    const [name, ...words] = command;
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(name, words, { cwd: this.work, env: this.env, stdio, detached: true });
    running.add(child.pid);
    const shown = [];
    for (const out of [child.stdout, child.stderr]) out.on('data', (data) => shown.push(data));
    const [code] = await once(child, 'close');
    killGroup(child.pid);
    running.delete(child.pid);
    assert.equal(code, 0, `${this.program.title}: ${Buffer.concat(shown).toString().slice(-4_000)}`);
  }

  talk() {
    return this.run(...this.program.command, 'Talk with the other agent.');
  }
}

/** Holds one talk. Returns a row for each agent. */
async function hold(talk, names, door, model) {
  const folder = mkdtempSync(join(tmpdir(), 'talks-'));
  const server = new Server(folder, door);
  try {
    server.tokens = door === 'http' ? ['ann', 'ben', 'watcher'].map((name) => server.token(name)) : [];
    await server.start();
    const watcher = await Watcher.join(server);
    let up = Promise.resolve();
    // The server dies once for each agent, which then speaks, while the other one waits.
    const spared = new Set(talk.name === 'restart' ? [] : ['Ann', 'Ben']);
    const before = async ({ name, heard }) => {
      if (heard.length > 0 && !spared.has(name)) {
        spared.add(name);
        // How far the agents have read is on the disk with the next command, or within 250 ms.
        up = up.then(() => watcher.login()).then(() => server.restart());
      }
      await up;
    };
    const agents = ['Ann', 'Ben'].map((name, n) => {
      const { form } = PROGRAMS[names[n]];
      const lines = Array.from({ length: talk.lines }, (_, line) => `${name}: "${line}" of ${talk.name}`);
      // Over HTTP the call that waits has no answer when the server dies.
      const repeats = talk.name === 'restart' && door === 'http' ? 1 : 0;
      return new Agent({ name, begins: n === 0, lines, form, first: talk.first(name), repeats });
    });
    const programs = agents.map((agent, n) => {
      const url = model.add(agent, before);
      return new Installed(PROGRAMS[names[n]], join(folder, agent.name), server.tokens[n], url, model.url);
    });
    for (const program of programs) await program.connect(door, server.url);
    // Who begins does not speak to an empty room.
    const [ann, ben] = agents;
    const second = programs[1].talk();
    await Promise.race([ben.present.promise, second]);
    await Promise.all([second, programs[0].talk()]);
    judge(talk, ann, ben);
    if (talk.name === 'room') judgeRoom(await watcher.events(), ann, ben);
    return agents.map((agent, n) => row(talk, door, names[n], agent));
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function judge(talk, ann, ben) {
  for (const [reader, speaker] of [[ann, ben], [ben, ann]]) {
    assert.deepEqual(reader.heard, speaker.lines, `${reader.name} read other words than ${speaker.name} said`);
    assert.deepEqual(reader.refused, [], `${reader.name} was refused`);
    const most = talk.most + reader.repeated + reader.idle;
    assert.ok(reader.results.length <= most, `${reader.name} made ${reader.results.length} calls, over ${most}`);
    const answers = reader.results.length + MORE_ANSWERS;
    assert.ok(reader.answers <= answers, `${reader.name}'s model was called ${reader.answers} times, over ${answers}`);
  }
}

/** Whoever speaks in a room holds its stick, and they speak in turns. */
function judgeRoom(events, ann, ben) {
  let holder;
  const said = [];
  for (const { type, user, sender, message } of events) {
    if (type === 'stick.granted') holder = user.user_id;
    else if (type.startsWith('stick.')) holder = undefined;
    if (type !== 'message.received') continue;
    assert.equal(sender.user_id, holder, `${sender.display_name} spoke without the stick`);
    said.push(message);
  }
  assert.deepEqual(said, ann.lines.flatMap((line, n) => [line, ben.lines[n]]));
}

function row(talk, door, name, agent) {
  const { results, answers, bytes, repeated, idle } = agent;
  return [`${talk.name}, ${door}`, PROGRAMS[name].title, results.length, answers, bytes, repeated, idle];
}

function show([talk, program, ...counts]) {
  console.log(talk.padEnd(16) + program.padEnd(14) + counts.map((count) => String(count).padStart(13)).join(''));
}

const model = await Model.start();
show(['talk', 'program', 'calls', 'model calls', 'bytes', 'repeated', 'idle']);
for (const names of pairs.map((pair) => pair.split(','))) {
  for (const door of ['http', 'stdio']) {
    for (const talk of TALKS) {
      // The book: over HTTP, Gemini is restarted after each restart of the server.
      if (talk.name === 'restart' && door === 'http' && names.includes('gemini')) continue;
      const rows = hold(talk, names, door, model);
      const guard = setTimeout(() => model.stop(`${talk.name}, ${door}: the time limit is over`), GUARD_MS);
      const failed = model.failed.promise.then((error) => Promise.reject(error));
      for (const counts of await Promise.race([rows, failed])) show(counts);
      clearTimeout(guard);
    }
  }
}
assert.deepEqual(model.outside, [], 'a program asked other hosts');
process.exit(0);
