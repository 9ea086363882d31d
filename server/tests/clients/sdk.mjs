// The TypeScript SDK as an agent's client.

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const NEGOTIATION = { legacy: 'legacy', modern: { pin: '2026-07-28' } };
const UPDATED = 'notifications/resources/updated';
const GUARD_MS = 30_000;

export class SdkAgent {
  /** It holds a stream on which pushes come. */
  pushes = true;

  constructor(era, url) {
    this.era = era;
    this.url = url;
  }

  async connect() {
    const versionNegotiation = { mode: NEGOTIATION[this.era] };
    const about = { name: 'talking-stick-test', version: '1' };
    const capabilities = { experimental: { 'org.talking-stick/events': {} } };
    this.client = new Client(about, { versionNegotiation, capabilities });
    await this.client.connect(new StreamableHTTPClientTransport(new URL(this.url)));
  }

  async close() {
    await this.client.close();
  }

  callTool(name, args) {
    return this.client.callTool({ name, arguments: args });
  }

  /** Asks to hear when the inbox grows. What it returns waits for the next message. */
  async follow(person) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const guard = setTimeout(() => reject(new Error('nothing was pushed')), GUARD_MS);
    const read = async () => {
      const uri = `${person.uri}?after=${person.after}`;
      const { contents } = await this.client.readResource({ uri });
      const { events } = JSON.parse(contents[0].text);
      return events.find((event) => event.type === 'message.received')?.message;
    };
    const updated = Promise.withResolvers();
    this.client.setNotificationHandler(UPDATED, async ({ params }) => {
      assert.equal(params.uri, person.uri);
      const message = await read();
      if (message !== undefined) updated.resolve(message);
    });
    if (this.era === 'legacy') {
      const event = Promise.withResolvers();
      this.client.fallbackNotificationHandler = async ({ method, params }) => {
        if (method === 'message.received') event.resolve(params.message);
      };
      await this.client.subscribeResource({ uri: person.uri });
      Promise.all([event.promise, updated.promise]).then(([pushed, message]) => {
        assert.equal(pushed, message);
        resolve(message);
      });
    } else {
      await this.client.listen({ resourceSubscriptions: [person.uri] });
      updated.promise.then(resolve);
    }
    return () => promise.finally(() => clearTimeout(guard));
  }
}
