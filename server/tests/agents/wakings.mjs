// Agent programs whose turn has ended are woken by messages, as the book says. Prints the times from a message to the
// request that a program makes to its model, and from its own start to its first request.
//
// Usage: node wakings.mjs SERVER BOOK MESSAGES PROGRAM …

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Model, Sleeper } from './model.mjs';
import { Installed, PROGRAMS, ROOM, Server, Watcher } from './programs.mjs';

/** How long a program is left alone after its turn before the next message: its hook starts. */
const IDLE_MS = 700;

/** The time limit of one waking, which guards against programs that hang. */
const GUARD_MS = 60_000;

const messages = Number(process.argv[4]);

/** Wakes a program again and again. Returns its start, and the times, the shortest first. */
async function wake(name, model) {
  const folder = mkdtempSync(join(tmpdir(), 'wakings-'));
  const server = new Server(folder, 'stdio');
  let program;
  try {
    server.tokens = [];
    await server.start();
    const watcher = await Watcher.join(server);
    const first = { tool: 'login', args: { username: 'Ann', room: ROOM } };
    const sleeper = new Sleeper({ name, form: PROGRAMS[name].form, first, messages });
    const url = model.add(sleeper, async () => {});
    program = new Installed(PROGRAMS[name], join(folder, name), undefined, url, model.url);
    await program.connect('stdio', server.url);
    await program.setUpWaking(server.url);
    const starts = performance.now();
    const ended = program.sleep();
    const awaited = (what) => Promise.race([what, ended, model.failed.promise.then((error) => Promise.reject(error))]);
    const start = (await awaited(sleeper.started.promise)) - starts;
    const times = [];
    const said = [];
    for (let number = 1; number <= messages; number += 1) {
      await awaited(sleeper.asleep.promise);
      assert.deepEqual(sleeper.heard, said);
      await pause(IDLE_MS);
      const guard = setTimeout(() => model.stop(`${name} is not woken`), GUARD_MS);
      const began = performance.now();
      said.push(`words ${number}`);
      await watcher.say(said.at(-1));
      times.push((await awaited(sleeper.woken.promise)) - began);
      clearTimeout(guard);
    }
    await awaited(sleeper.asleep.promise);
    assert.deepEqual(sleeper.heard, said);
    sleeper.isLeaving = true;
    await watcher.say('leave');
    await awaited(sleeper.woken.promise);
    await awaited(sleeper.asleep.promise);
    // One without a terminal ends by itself.
    program.end();
    await ended;
    return [start, times.sort((a, b) => a - b)];
  } finally {
    program?.end();
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const model = await Model.start();
for (const name of process.argv.slice(5)) {
  const [start, times] = await wake(name, model);
  const [half, most] = [0.5, 0.99].map((share) => Math.round(times[Math.floor(share * (times.length - 1))]));
  console.log(`${PROGRAMS[name].title}: ${half} ms (p50), ${most} ms (p99) of ${times.length}; start: ${Math.round(start)} ms`);
}
process.exit(0);
