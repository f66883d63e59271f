import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alice } from '../src/commands/announcements.ts';
import { readConfig } from '../src/config/config.ts';
import { startSandbox } from '../src/sandbox/server.ts';
import { createTestBankql } from './support/bankql.ts';
import { type RecordedCall, startRecordingBank } from './support/recording-bank.ts';

const page = join(import.meta.dirname, '../docs/cookbook.md');

/** A document, and what an earlier run put behind it. */
const block = /^```graphql( explain)?\n([\s\S]*?)^```\n(?:\n```json\n[\s\S]*?^```\n(?:\nREST: .*\n)?)?/gm;

async function start() {
  await using made = new AsyncDisposableStack();
  const config = readConfig({});
  const now = Date.parse('2026-01-15T12:00:00Z');
  const sandbox = await startSandbox({ port: 0, database: ':memory:', latencyMs: 0, now });
  made.defer(() => sandbox.close());
  const recorder = (await startRecordingBank()).otherwise(async (call: RecordedCall) => {
    const { host, connection, 'content-length': _length, ...headers } = call.headers;
    const body = call.body === '' ? {} : { body: call.body };
    const response = await fetch(`${sandbox.url}${call.path}`, { method: call.method, headers, ...body });
    return { status: response.status, body: await response.text() };
  });
  made.defer(() => recorder.close());
  const bankql = made.use(
    createTestBankql({
      bankUrl: recorder.url,
      defaults: { bankId: config.bankId, viewId: config.defaultView, viewer: config.viewer },
      explains: true,
    }),
  );
  const resources = made.move();
  return { recorder, bankql, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

test('the answers in docs/cookbook.md are those of the sandbox bank', async () => {
  await using fixture = await start();
  const { bankql, recorder } = fixture;
  const text = readFileSync(page, 'utf8');
  const parts: string[] = [];
  let end = 0;
  for (const { 0: whole, 1: explain, 2: document = '', index } of text.matchAll(block)) {
    recorder.calls.length = 0;
    const headers = explain === undefined ? alice : { ...alice, 'x-bankql-explain': 'plan' };
    const answer = await bankql.ask(document, {}, headers);
    const calls = recorder.calls.map(({ method, path }) => `\`${method} ${path.replace('/v1/api', '')}\``);
    const rest = calls.length === 0 ? 'none' : calls.sort().join(', ');
    parts.push(
      text.slice(end, index),
      `\`\`\`graphql${explain ?? ''}\n${document}\`\`\`\n`,
      `\n\`\`\`json\n${JSON.stringify(answer, null, 2)}\n\`\`\`\n\nREST: ${rest}\n`,
    );
    end = index + whole.length;
  }
  expect(parts.length / 3).toBeGreaterThanOrEqual(12);
  await expect(parts.join('') + text.slice(end)).toMatchFileSnapshot(page);
});
