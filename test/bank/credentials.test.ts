import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Credentials,
  credentialHeaders,
  credentialHeadersFor,
  validateCredential,
} from '../../src/bank/credentials.ts';
import { operations } from '../../src/contract/operations.ts';
import { createTestClient } from '../support/bank-client.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';

const rows = Object.values(operations);
const needsAuth = rows.filter(({ auth }) => auth === 'required');
const mayHaveAuth = rows.filter(({ auth }) => auth === 'optional');
const hasNoAuth = rows.filter(({ auth }) => auth === 'none');

type Missing = readonly (keyof Credentials)[];
const without = (missing: Missing): Credentials => ({
  ...canaries,
  ...Object.fromEntries(missing.map((name) => [name, null])),
});
const cases = (
  operations: readonly { readonly id: keyof typeof sampleCalls }[],
  absences: readonly Missing[],
) =>
  operations.flatMap(({ id }) =>
    absences.map((missing) => ({
      id,
      missing,
      names: missing.map((name) => credentialHeaders[name]).join(', '),
    })),
  );

describe('a call without a header that the operation requires', () => {
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

  test.each([
    ...cases(rows, [['subscriptionKey']]),
    ...cases(needsAuth, [
      ['authProviderName'],
      ['authId'],
      ['authProviderName', 'authId'],
      ['subscriptionKey', 'authProviderName', 'authId'],
    ]),
  ])('$id without $names is not made', async ({ id, missing, names }) => {
    const sample = sampleCalls[id];
    await expect(sample.run(client, without(missing))).rejects.toMatchObject({
      code: 'MISSING_CREDENTIALS',
      message: `${id} needs the request header${missing.length > 1 ? 's' : ''} ${names}.`,
      extensions: { code: 'MISSING_CREDENTIALS', operation: id, retryable: false },
    });
    expect(bank.lines()).toEqual([]);
  });

  test.each([
    ...cases(mayHaveAuth, [['authProviderName'], ['authId'], ['authProviderName', 'authId']]),
    ...cases(hasNoAuth, [['authProviderName'], ['authId'], ['authProviderName', 'authId']]),
  ])('$id without $names is made, since they are not required', async ({ id, missing }) => {
    const sample = sampleCalls[id];
    const { answer } = await sample.run(client, without(missing));
    expect(answer).toEqual(sample.answer);
    expect(bank.lines()).toEqual([sample.line]);
    for (const name of ['authProviderName', 'authId'] as const) {
      const given = operations[id].auth !== 'none' && !missing.includes(name);
      expect(bank.calls[0]?.headers[credentialHeaders[name].toLowerCase()]).toBe(
        given ? canaries[name] : undefined,
      );
    }
  });
});

describe('the headers of an operation', () => {
  test('are spelt as the specification spells them', () => {
    expect(credentialHeadersFor(operations.getCustomer, canaries)).toEqual([
      'Ocp-Apim-Subscription-Key',
      canaries.subscriptionKey,
      'Auth-Provider-Name',
      canaries.authProviderName,
      'Auth-ID',
      canaries.authId,
    ]);
  });

  test('hold nothing of a caller where the table marks none', () => {
    expect(credentialHeadersFor(operations.getBranches, canaries)).toEqual([
      'Ocp-Apim-Subscription-Key',
      canaries.subscriptionKey,
    ]);
  });
});

describe('a credential', () => {
  test.each([
    'x',
    'alice',
    'a b',
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'A'.repeat(255),
    'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl',
  ])('%j may leave as it is', (value) => {
    expect(validateCredential('Auth-ID', value)).toBe(value);
  });

  test.each([
    ['a line break', 'canary\r\nX-Evil: 1'],
    ['a line feed', 'canary\nX-Evil: 1'],
    ['a line feed at the end', 'canary\n'],
    ['a carriage return', 'canary\rx'],
    ['a NUL', 'canary\0x'],
    ['a DEL', 'canary\u007fx'],
    ['a tab', 'canary\tx'],
    ['an escape', 'canary\u001bx'],
    ['a C1 control', 'canary\u0085x'],
    ['a Latin-1 letter', 'canary-é'],
    ['a no-break space', 'canary\u00a0x'],
    ['a letter beyond Latin-1', 'canary-日'],
    ['a lone surrogate', 'canary-\ud800'],
    ['a leading space', ' canary'],
    ['a trailing space', 'canary '],
    ['256 characters', 'canary'.padEnd(256, 'x')],
    ['8 kB', 'canary'.padEnd(8192, 'x')],
    ['nothing', ''],
    ['a space', ' '],
  ])('with %s is refused by the header’s name, and its value is not repeated', (_, value) => {
    const check = () => validateCredential('Auth-Provider-Name', value);
    expect(check).toThrow(
      expect.objectContaining({
        code: 'BAD_USER_INPUT',
        message: expect.stringMatching(/^The header Auth-Provider-Name is [ -~]{1,150}$/),
        extensions: { code: 'BAD_USER_INPUT', retryable: false },
      }),
    );
    expect(check).not.toThrow(/canary/);
  });
});
