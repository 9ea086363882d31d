// Agent programs talk with each other through the real server: by the queue, in a room with a stick, and over the death
// of the server, each over HTTP and over stdio.
//
// Usage: node talks.mjs SERVER BOOK PROGRAM,PROGRAM …

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Agent, Model } from './model.mjs';
import { Installed, PROGRAMS, ROOM, Server, Watcher } from './programs.mjs';

/** The time limit of a talk, which guards against programs that hang. */
const GUARD_MS = 150_000;

/** The answers of a model besides those that call a tool of the chat: the last, and Claude Code's searches for a tool. */
const MORE_ANSWERS = 4;

/** The talks. Each agent makes `most` calls of the chat's tools at most, besides those that are repeated or whose
 * wait brings nothing, since a program may start slowly. */
const TALKS = [
  { name: 'pair', lines: 5, most: 14, first: (name) => ({ tool: 'enter_queue', args: { display_name: name } }) },
  { name: 'room', lines: 3, most: 6, first: (name) => ({ tool: 'login', args: { username: name, room: ROOM } }) },
  { name: 'restart', lines: 3, most: 12, first: (name) => ({ tool: 'enter_queue', args: { display_name: name } }) },
];

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
for (const names of process.argv.slice(4).map((pair) => pair.split(','))) {
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
