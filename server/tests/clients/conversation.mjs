// Two agents hold a whole conversation through a published JavaScript client, in one protocol
// version.
//
// Usage: node conversation.mjs sdk|inspector legacy|modern URL

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { InspectorAgent } from './inspector.mjs';
import { SdkAgent } from './sdk.mjs';

const AGENTS = { sdk: SdkAgent, inspector: InspectorAgent };
const [library, era, url] = process.argv.slice(2);
const name = randomUUID().slice(0, 8);
const names = { ann: `Ann-${name}`, ben: `Ben-${name}` };

/** What an agent does, by whatever client: a handle, and how far it has read. */
class Person {
  after = 0;
  read = [];

  constructor(client) {
    this.client = client;
  }

  async raw(tool, args) {
    const result = await this.client.callTool(tool, args);
    const lines = result.content[0].text.split('\n');
    assert.match(lines.at(-1), /^next: /);
    return result;
  }

  async call(tool, args = {}) {
    const handle = this.handle === undefined ? {} : { handle: this.handle };
    const result = await this.raw(tool, { ...handle, ...args });
    assert.ok(!result.isError, result.content[0].text);
    const said = result.structuredContent;
    if (said.handle !== undefined) {
      this.handle = said.handle;
      this.uri = said.inbox_uri;
    }
    return said;
  }

  /** Reads until an event is as wanted; every event on the way is the next one. */
  async check(wanted) {
    for (;;) {
      while (this.read.length > 0) {
        const event = this.read.shift();
        if (wanted(event)) return event;
      }
      const page = await this.call('check', { after: this.after, wait_seconds: 20 });
      for (const event of page.events) {
        this.after += 1;
        assert.equal(event.seq, this.after);
      }
      this.read = page.events;
    }
  }

  hears(text) {
    return this.check((event) => event.message === text);
  }
}

const [ann, ben] = [new Person(new AGENTS[library](era, url)), new Person(new AGENTS[library](era, url))];
await ann.client.connect();
await ben.client.connect();

// Queue and match.
const waiting = await ann.call('enter_queue', { display_name: names.ann });
assert.equal(waiting.status, 'waiting');
await ben.call('enter_queue', { display_name: names.ben });
// Nobody is matched before the first use of the handle, which a check is.
const [found, matched] = await Promise.all(
  [ann, ben].map((person) => person.check((event) => event.type === 'chatroom.found')),
);
assert.equal(matched.partner.display_name, names.ann);
const room = matched.room_id;
assert.equal(found.room_id, room);

// Messages in both directions.
for (const [speaker, hearer, message] of [[ann, ben, 'hi'], [ben, ann, 'hello'], [ann, ben, 'bye']]) {
  const sent = await speaker.call('send_message', { room_id: room, message });
  assert.equal((await hearer.hears(message)).message_id, sent.message_id);
}

// A client that can hold a stream receives a push; for any other client, a waiting check is woken.
const told = await ann.client.follow(ann);
const [heard] = await Promise.all([
  told(),
  ben.call('send_message', { room_id: room, message: 'pushed' }),
]);
assert.equal(heard, 'pushed');
if (ann.client.pushes) await ann.hears('pushed');

// The talking stick.
const attic = `attic-${name}`;
const roomId = (await ann.call('login', { username: names.ann, room: attic })).room_id;
await ben.call('login', { username: names.ben, room: attic });
assert.equal((await ann.call('talking_stick', { room_id: roomId })).place, 0);
assert.equal((await ben.call('talking_stick', { room_id: roomId })).place, 1);
const refused = await ben.raw('push', { handle: ben.handle, room_id: roomId });
assert.ok(refused.isError);
await ann.call('append', { room_id: roomId, text: 'from the draft' });
await ann.call('push', { room_id: roomId });
await ben.hears('from the draft');
await ben.check((event) => event.type === 'stick.granted' && event.user.display_name === names.ben);
await ben.call('reset', { room_id: roomId });

// A client reconnects and has lost nothing.
await ann.client.close();
const said = Array.from({ length: ann.client.pushes ? 20 : 3 }, (_, n) => `while you were away ${n}`);
for (const message of said) await ben.call('send_message', { room_id: room, message });
await ann.client.connect();
const back = [];
while (back.length < said.length) {
  const page = await ann.call('check', { after: ann.after, wait_seconds: 20 });
  back.push(...page.events.filter((e) => e.type === 'message.received').map((e) => e.message));
  ann.after = page.cursor;
}
assert.deepEqual(back, said);

// Leave.
assert.ok((await ann.call('leave_chat', { room_id: room })).success);
const gone = await ben.check((event) => event.type === 'partner.disconnected');
assert.equal(gone.reason, 'left');
await ann.client.close();
await ben.client.close();
console.log(`${library}, ${era}: queue, match, talk, push, stick, reconnect, leave`);
process.exit(0);
