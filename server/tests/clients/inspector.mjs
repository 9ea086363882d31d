// The Inspector's command line as an agent's client: one process for each call, and in the older
// protocol version one session for each call.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACKAGE = './node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js';
const PROGRAM = fileURLToPath(new URL(PACKAGE, import.meta.url));

export class InspectorAgent {
  /** It holds no stream between calls. */
  pushes = false;

  constructor(era, url) {
    this.era = era;
    this.url = url;
  }

  async connect() {}

  async close() {}

  async callTool(name, args) {
    const words = ['--server-url', this.url, '--transport', 'http', '--protocol-era', this.era];
    words.push('--method', 'tools/call', '--tool-name', name);
    for (const [key, value] of Object.entries(args)) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      words.push('--tool-arg', `${key}=${text}`);
    }
    const ended = await run(process.execPath, [PROGRAM, ...words]).catch((error) => error);
    try {
      return JSON.parse(ended.stdout);
    } catch {
      throw new Error(`the Inspector said: ${ended.stdout} ${ended.stderr}`);
    }
  }

  /** A check that waits stands for the stream that it cannot hold. */
  async follow(person) {
    return async () => {
      const event = await person.check((event) => event.type === 'message.received');
      return event.message;
    };
  }
}
