// Agent programs, as they are published and connected as the book says, and the real server.
//
// Usage of both scripts: node SCRIPT SERVER BOOK WORD …

import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const [serverProgram, bookFile] = process.argv.slice(2);
const book = readFileSync(bookFile, 'utf8').split('## Connect a client')[1].split('### stdio')[0];
const bin = resolve('node_modules/.bin');
const path = [dirname(resolve(serverProgram)), bin, resolve('node_modules/opencode-linux-x64/bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');

/** The programs: their heading in the book, the form of a result that they show, their set-up for the model at `url`,
 * and their command. */
export const PROGRAMS = {
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
    terminal: 'codex',
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
    terminal: 'opencode --prompt',
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

/** The most wakings in an hour: not the default, which a long try exceeds. */
const PER_HOUR = 1_000;

/** The name of the room. */
export const ROOM = 'project';

/** The real server on one folder. */
export class Server {
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
export class Watcher {
  static async join(server) {
    const watcher = Object.assign(new Watcher(), { server, token: server.tokens[2] });
    watcher.handle = (await watcher.login()).handle;
    return watcher;
  }

  login() {
    return this.server.post('/tools/login', { username: 'Watcher', room: ROOM }, this.token, this.handle);
  }

  say(message) {
    return this.server.post('/tools/speak', { message, wait_seconds: 0 }, this.token, this.handle);
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

/** The file of the program of a process. */
function programOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    // It has ended, or is another user's.
    return undefined;
  }
}

/** A program under a home of its own. */
export class Installed {
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
    return this.addSettings(file, JSON.parse(way));
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

  /** Runs a command in a terminal, which answers the question where its cursor is. */
  async show(command) {
    const words = ['-qfec', command, '/dev/null'];
    const child = spawn('script', words, { cwd: this.work, env: { ...this.env, TERM: 'xterm-256color' }, detached: true });
    running.add(child.pid);
    child.stdout.on('data', (data) => {
      if (data.includes('\x1b[6n')) child.stdin.write('\x1b[1;1R');
    });
    this.terminal = child.pid;
    await once(child, 'exit');
    running.delete(child.pid);
  }

  /** Ends what runs in a terminal, with the daemons that it has put below its home. Others end by themselves. */
  end() {
    if (this.terminal === undefined) return;
    killGroup(this.terminal);
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (programOf(pid)?.startsWith(this.home)) process.kill(pid, 'SIGKILL');
    }
  }

  talk() {
    return this.run(...this.program.command, 'Talk with the other agent.');
  }

  /** Lets messages wake it, as `wake --print` says: by settings, a file, or a command. */
  async setUpWaking(server) {
    const words = ['wake', '--print', this.program.command[0], '--connect', server];
    const told = execFileSync(serverProgram, words, { encoding: 'utf8' });
    const printed = told.replaceAll(' --connect', ` --per-hour ${PER_HOUR} --connect`);
    const file = printed.match(/~\/([\w./-]+)/)?.[1];
    if (file?.endsWith('.json')) this.addSettings(file, JSON.parse(printed.slice(printed.indexOf('{'))));
    else if (file !== undefined) write(join(this.home, file), printed);
    else await this.run('sh', '-c', `${printed.trim().split('\n').at(-1)} --idle-after 500ms`);
  }

  addSettings(file, added) {
    const path = join(this.home, file);
    const settings = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
    write(path, JSON.stringify({ ...settings, ...added }));
  }

  /** Lets it register and end its turn. One that needs a terminal has one, and does not end by itself. */
  sleep() {
    const { terminal, command } = this.program;
    const prompt = 'Wait to be woken.';
    return terminal === undefined ? this.run(...command, prompt) : this.show(`${terminal} '${prompt}'`);
  }
}
