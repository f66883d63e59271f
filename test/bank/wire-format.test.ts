import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CredentialName, type Credentials, credentialHeaders } from '../../src/bank/credentials.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient } from '../support/bank-client.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';
import { quietFor } from '../support/waits.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const rows = Object.values(operations);
const all = ['subscriptionKey', 'authProviderName', 'authId'] as const;
const absences: readonly CredentialName[][] = [...all.map((name) => [name]), all.slice(1), [...all]];

/** Every header of a call according to the specification's table and HTTP; no other header may be sent. */
function headersOf({ operation, sent }: SampleCall, host: string, { authProviderName, authId }: Credentials) {
  const takesAuth = operation.auth !== 'none';
  return {
    host,
    connection: operation.kind === 'read' ? 'keep-alive' : 'close',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'ocp-apim-subscription-key': canaries.subscriptionKey,
    ...(takesAuth && authProviderName !== null ? { 'auth-provider-name': authProviderName } : {}),
    ...(takesAuth && authId !== null ? { 'auth-id': authId } : {}),
    ...(operation.tracked ? { 'track-id': expect.stringMatching(uuid) } : {}),
    ...(operation.method === 'GET'
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(sent)) }),
  };
}

describe('on the wire', () => {
  let bank: RecordingBank;
  let client: ReturnType<typeof createTestClient>;
  beforeAll(async () => {
    bank = await startRecordingBank();
    client = createTestClient(bank.url);
    for (const { line, reply } of Object.values(sampleCalls)) bank.on(line, { body: reply });
  });
  beforeEach(() => {
    bank.calls.length = 0;
  });
  afterAll(async () => {
    await client.close();
    await bank.close();
  });

  describe.each(rows)('$id', (operation) => {
    const { id, tracked, method } = operation;
    const sample = sampleCalls[id];
    test('is the request line, the headers and the body that the table says, and nothing else', async () => {
      const { answer, trackId } = await sample.run(client);
      expect(bank.lines()).toEqual([sample.line]);
      const [call] = bank.calls;
      expect(call?.headers).toEqual(headersOf(sample, new URL(bank.url).host, canaries));
      expect(call?.headerNames).toHaveLength(Object.keys(call?.headers ?? {}).length);
      expect(call?.body).toBe(sample.sent);
      expect(trackId).toBe(call?.headers['track-id'] ?? null);
      expect(answer).toEqual(sample.answer);
    });

    test(tracked ? 'bears another Track-ID each time' : 'bears no Track-ID', async () => {
      // Each read has its own key, because identical reads of one caller would share a call.
      const results = await Promise.all(
        Array.from({ length: 5 }, (_, nth) =>
          sample.run(client, { ...canaries, subscriptionKey: `key-${nth}` }),
        ),
      );
      const sent = bank.calls.map(({ headers }) => headers['track-id'] ?? null);
      expect(new Set(results.map(({ trackId }) => trackId))).toEqual(new Set(sent));
      expect(new Set(sent).size).toBe(tracked ? 5 : 1);
      expect(sent.includes(null)).toBe(!tracked);
    });

    test('is appended to a bank’s address that has a path and ends in a slash', async () => {
      const [, path] = sample.line.split(' ');
      bank.on(`${method} /gateway/v2${path}`, { body: sample.reply });
      for (const suffix of ['/gateway/v2', '/gateway/v2/', '/gateway/v2//']) {
        await using behind = createTestClient(bank.url + suffix);
        expect((await sample.run(behind)).answer).toEqual(sample.answer);
      }
      expect(bank.lines()).toEqual(Array(3).fill(`${method} /gateway/v2${path}`));
    });

    const required = operation.auth === 'required' ? all : ['subscriptionKey'];
    test.each(absences)('is made without %j only if they are not required', async (...missing) => {
      const given = { ...canaries, ...Object.fromEntries(missing.map((name) => [name, null])) };
      const lacking = missing
        .filter((name) => required.includes(name))
        .map((name) => credentialHeaders[name]);
      if (lacking.length === 0) {
        expect((await sample.run(client, given)).answer).toEqual(sample.answer);
        const host = new URL(bank.url).host;
        expect(bank.calls.map(({ headers }) => headers)).toEqual([headersOf(sample, host, given)]);
        return;
      }
      await expect(sample.run(client, given)).rejects.toMatchObject({
        code: 'MISSING_CREDENTIALS',
        message: `${id} needs the request header${lacking.length > 1 ? 's' : ''} ${lacking.join(', ')}.`,
        extensions: { code: 'MISSING_CREDENTIALS', operation: id, retryable: false },
      });
      expect(bank.lines()).toEqual([]);
    });
  });

  test('a payment that was prepared is not sent yet, and is sent once by each `send`', async () => {
    const sample = sampleCalls.postMakeTransaction;
    const call = sample.prepare(client);
    await quietFor(20);
    expect(bank.lines()).toEqual([]);
    expect(await client.send(call)).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    expect(bank.lines()).toEqual([sample.line]);
    expect(bank.calls[0]?.headers['track-id']).toBe(call.trackId);
  });
});
