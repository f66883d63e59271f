import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { operations } from '../../src/contract/operations.ts';
import { checksOf, runDoctor } from '../../src/doctor/doctor.ts';
import { credentialOptions, type DoctorIds, readDoctorOptions } from '../../src/doctor/doctor-options.ts';
import { example } from '../../src/sandbox/identity.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { type RecordingBank, type Reply, startRecordingBank } from '../support/recording-bank.ts';
import { accountOf, branchOf } from '../support/records.ts';
import { runCommand } from '../support/run-command.ts';
import { canaries } from '../support/sample-calls.ts';
import { startSandboxRecorder } from '../support/sandbox-recorder.ts';

const checks = checksOf('views');
const all = checks.length;

/** The output of the doctor for the bank at this address, and its exit code. */
async function examine(
  baseUrl: string,
  given: { ids?: DoctorIds; credentials?: Credentials; accountScope?: string; timeoutMs?: number } = {},
) {
  let text = '';
  const { timeoutMs = 60_000 } = given;
  const code = await runDoctor({
    ...example,
    accountScope: 'views',
    ...given,
    bank: { baseUrl, timeoutMs, maxBodyBytes: 1024 * 1024 },
    write: (part) => {
      text += part;
    },
  });
  const lines = text.split('\n');
  /** The rows of an operation, with the differences below each. Runs of white space become one blank. */
  const of = (id: string) => {
    const found: string[] = [];
    for (const [index, line] of lines.entries()) {
      if (!line.startsWith(`${id} `)) continue;
      found.push(line.replaceAll(/ {2,}/g, ' | '));
      for (const below of lines.slice(index + 1)) {
        if (!below.startsWith('    ')) break;
        found.push(below.trim().replaceAll(/ {2,}/g, ' '));
      }
    }
    return found;
  };
  return { code, text, lines, of };
}

/** A reply in place of the bank's answer, or a function that changes the answer's text. */
type Fault = Reply | 'reset' | 'hang' | ((text: string) => string);

/** Examines a sandbox bank that spoils some answers, chosen by the ends of their paths. */
async function sandboxWith(faults: Readonly<Record<string, Fault>>, timeoutMs?: number) {
  await using bank = await startSandboxRecorder();
  bank.recorder.otherwise(async (call) => {
    const [, fault] =
      Object.entries(faults).find(([end]) => `${call.method} ${call.path}`.endsWith(end)) ?? [];
    if (typeof fault !== 'function') return fault ?? bank.forward(call);
    const { body, ...rest } = await bank.forward(call);
    return { ...rest, body: fault(String(body)) };
  });
  // The result is awaited here, because the bank is closed when this function returns.
  return await examine(bank.recorder.url, timeoutMs === undefined ? {} : { timeoutMs });
}

/** A bank with numbers as strings, and with objects in `views_available`: bankql accepts both. */
const drift = (text: string) =>
  JSON.stringify(
    JSON.parse(text, (key, value, { source }) => {
      if (typeof value === 'number') return source;
      return key === 'views_available' && Array.isArray(value) ? value.map((id) => ({ id })) : value;
    }),
  );

/** Every value gets another type than in the contract. The structure stays the same. */
const wrongTypes = (text: string) =>
  JSON.stringify(
    JSON.parse(text, (_key, value) => {
      if (typeof value === 'object') return value;
      if (typeof value === 'number') return 'no number';
      return typeof value === 'string' ? false : `no ${value}`;
    }),
  );

test('examines every read operation of the table, and no other', () => {
  const reads = Object.values(operations).filter(({ kind }) => kind === 'read');
  expect(new Set(checks.map(({ operation }) => operation))).toEqual(new Set(reads));
});

describe('a sandbox bank', () => {
  test('conforms on a good day: each operation ok, in a table whose columns stand below each other, exit code 0', async () => {
    const { code, lines, of } = await sandboxWith({});
    expect(code).toBe(0);
    for (const { operation } of checks) {
      for (const row of of(operation.id)) expect(row).toMatch(/ \| 200 \| \d+ \| ok$/);
    }
    expect(of('getAccountsScope')).toHaveLength(2);
    const [head = '', ...rows] = lines.slice(0, 14);
    expect(rows.map((row) => row.slice(head.indexOf('verdict')))).toEqual(rows.map(() => 'ok'));
    expect(rows.map((row) => row.indexOf(' /v1/api/') > 0)).toEqual(rows.map(() => true));
    expect(lines.at(-2)).toMatch(
      new RegExp(`^${all} calls to http://127\\.0\\.0\\.1:\\d+: ${all} ok; 0 skipped\\.$`),
    );
  });

  test('is not used as the bank if the operator forgot to name one', async () => {
    expect(await runCommand(['doctor'])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^BANK_BASE_URL names no bank: this checks the embedded sandbox bank/),
    });
  });

  test('takes the settings of a bankql with workers and another store', async () => {
    const environment = { WORKERS: '2', BANK_BASE_URL: 'http://127.0.0.1:1', DOCTOR_SUBSCRIPTION_KEY: 'k' };
    // Without ids, the doctor makes no call.
    const { code, output } = await runCommand(['doctor'], { environment });
    expect([code, output]).toEqual([2, expect.stringContaining('0 calls to http://127.0.0.1:1; ')]);
  });

  test('with drift: every place is named, once, with how often; exit code 1', async () => {
    const { code, of, lines } = await sandboxWith({
      'GET /v1/api/banks/SNDBCY2N/branches': drift,
      '/views': drift,
      '/permissions': drift,
    });
    expect(code).toBe(1);
    expect(of('getBranches')).toEqual([
      expect.stringMatching(/ \| 200 \| \d+ \| drift: 2 places$/),
      'drift branches[].location.latitude: expected number, found string (21 times)',
      'drift branches[].location.longitude: expected number, found string (21 times)',
    ]);
    expect(of('getAccountsScope').slice(0, 3)).toEqual([
      expect.stringMatching(/\/views .* drift: 2 places$/),
      'drift amount: expected number, found string',
      'drift accounts[].views_available[]: expected string, found object (2 times)',
    ]);
    expect(lines.at(-2)).toContain(`: ${all - 3} ok, 3 drift; 0 skipped.`);
  });

  test('with wrong types: every place is named, not the first alone', async () => {
    const { code, of } = await sandboxWith({
      '/transaction': wrongTypes,
      'GET /v1/api/banks/SNDBCY2N/branches': wrongTypes,
    });
    expect(code).toBe(1);
    const [row, ...places] = of('getTransaction');
    expect(row).toMatch(/ \| 200 \| \d+ \| contract: \d+ places, drift: 1 place$/);
    expect(places).toContain('contract id: expected string, found boolean');
    expect(places).toContain('contract details.value.amount: expected number, found string');
    expect(places).toContain('contract details.posted: expected string, found boolean');
    expect(of('getBranches')).toContain(
      'contract branches[].acceptsDeposits: expected boolean, found string (26 times)',
    );
  });

  test.each<[string, Fault, RegExp]>([
    [
      'a status',
      { status: 503, body: { message: 'The bank has a bad day' } },
      / \| 503 \| \d+ \| refused by the bank: The bank has a bad day$/,
    ],
    [
      'a redirect',
      { status: 308, headers: { Location: 'https://bank.example/v1/login?token=t0ken' } },
      / \| 308 \| \d+ \| refused by the bank: a redirect to https:\/\/bank\.example\/v1\/login, which is not followed$/,
    ],
    [
      'a redirect to nowhere',
      { status: 302 },
      / \| 302 \| \d+ \| refused by the bank: a redirect, which is not followed$/,
    ],
    ['reset', 'reset', / \| - \| \d+ \| no answer: the connection broke \(.*ECONNRESET\)$/],
    ['hang', 'hang', / \| - \| \d+ \| no answer: no whole answer within 2000 ms$/],
  ])('%s is shown for what it is, and the rest is examined', async (name, fault, row) => {
    const { code, of, lines } = await sandboxWith(
      { '/customers/alice': fault },
      name === 'hang' ? 2000 : undefined,
    );
    expect(code).toBe(1);
    expect(of('getCustomer')).toEqual([expect.stringMatching(row)]);
    // With a short deadline, other calls may be late too on a busy machine.
    expect(lines.at(-2)).toMatch(name === 'hang' ? / calls .* no answer/ : `: ${all - 1} ok,`);
  });

  test('a bank that is unreachable: no answer to anything', async () => {
    const sandbox = await startSandbox({ port: 0 });
    await sandbox.close();
    const { code, lines, of } = await examine(sandbox.url);
    expect(code).toBe(1);
    expect(of('getBranches')).toEqual([expect.stringMatching(/no answer: no connection \(.*ECONNREFUSED/)]);
    expect(lines.at(-2)).toContain(`: ${all} no answer;`);
  });
});

describe('any bank', () => {
  let bank: RecordingBank;
  beforeEach(async () => {
    bank = await startRecordingBank();
  });
  afterEach(() => bank.close());

  test('is only read from: GET, and the four POST queries, each once', async () => {
    await examine(bank.url, { credentials: canaries });
    expect(bank.calls).toHaveLength(all);
    expect(bank.lines().filter((line) => !line.startsWith('GET '))).toEqual([
      'POST /v1/api/banks/SNDBCY2N/branches',
      'POST /v1/api/banks/SNDBCY2N/accounts/alice-current/owner/other_accounts',
      'POST /v1/api/metadata',
      'POST /v1/api/banks/SNDBCY2N/products',
    ]);
    expect(bank.calls.map(({ body }) => body).filter(Boolean)).toEqual([
      '{"id":"nicosia-main"}',
      '{"IBAN":"GR1601101250000000012300695"}',
      '{"id":"languages"}',
      '{"id":"current-plus"}',
    ]);
    const tracks = bank.calls.map(({ headers }) => headers['track-id']).filter(Boolean);
    expect(tracks).toHaveLength(4);
    expect(new Set(tracks).size).toBe(4);
  });

  test('is called below its base path', async () => {
    const { lines } = await examine(`${bank.url}/gateway/`);
    expect(bank.lines()[0]).toBe('POST /gateway/v1/api/banks/SNDBCY2N/branches');
    expect(lines.at(-2)).toContain(`${all} calls to ${bank.url}/gateway: ${all} refused`);
  });

  test('an operation whose ids are missing is skipped, with the options that it needs', async () => {
    const { code, of, lines } = await examine(bank.url, { ids: { 'bank-id': 'BANK', view: 'owner' } });
    expect(code).toBe(1);
    expect(bank.lines()).toEqual([
      'GET /v1/api/banks/BANK/branches',
      'GET /v1/api/banks/BANK/customer/messages',
    ]);
    expect(of('getTransaction')).toEqual([
      expect.stringMatching(/ \| - \| - \| skipped: give --account, --transaction$/),
    ]);
    expect(of('postMetadata')).toEqual([expect.stringMatching(/skipped: give --metadata$/)]);
    expect(lines.at(-2)).toContain(`2 refused; ${all - 2} skipped.`);
  });

  test('without auth headers, what requires them is skipped; what may go without is called', async () => {
    const { of } = await examine(bank.url, {
      credentials: { ...canaries, authProviderName: null, authId: null },
    });
    expect(of('getCustomer')).toEqual([expect.stringMatching(/skipped: give --auth-provider, --auth-id$/)]);
    expect(bank.lines()).toContain('GET /v1/api/banks/SNDBCY2N/accounts/alice-current/owner/views');
  });

  test('without any id nothing is called: exit code 2', async () => {
    const { code, lines } = await examine(bank.url, { ids: {} });
    expect(code).toBe(2);
    expect(bank.calls).toEqual([]);
    expect(lines.at(-2)).toContain('0 calls to');
  });

  test('no credential is printed, though the bank repeats them all, wherever it can', async () => {
    const { subscriptionKey, authProviderName, authId } = canaries;
    const echo = `${subscriptionKey} ${authProviderName} ${authId}`;
    const seen = async () => {
      const { text } = await examine(bank.url, { credentials: canaries });
      for (const secret of [subscriptionKey, authProviderName, authId]) expect(text).not.toContain(secret);
      return text;
    };
    bank.otherwise({ status: 403, body: { message: `not you, ${echo}` } });
    expect(await seen()).toContain('refused by the bank: not you, [redacted] [redacted] [redacted]');
    bank.otherwise({ body: { branches: [{ acceptsDeposits: echo, [echo]: echo }], [echo]: 1 } });
    expect(await seen()).toContain('branches[].[redacted] [redacted] [redacted]');
    bank.otherwise({ body: echo });
    await seen();
  });

  test('no value of an answer is printed, and nothing that a terminal would obey', async () => {
    bank.otherwise({
      body: { branches: [{ acceptsDeposits: 'a private matter', '\u001b[2J\u202e': 'another' }] },
    });
    const { text, of } = await examine(bank.url);
    for (const part of ['private', 'another', '\u001b', '\u202e']) expect(text).not.toContain(part);
    expect(of('getBranches').slice(1)).toEqual([
      'contract branches[].acceptsDeposits: expected boolean, found string',
      'unknown branches[]. [2J',
    ]);
  });

  test('fields that the contract does not know are named, at any depth, and are no fault', async () => {
    const product = { id: 'p', Title: 't', meta: ['m'], extra: { deep: 1 } };
    bank.on('GET /v1/api/banks/BANK/products/p', { body: product });
    const branch = branchOf({ address: { city: 'c', zip: '1' } });
    bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [branch, branch], total: 2 } });
    bank.on('POST /v1/api/banks/BANK/products', { body: { product: [] } });
    bank.on('GET /v1/api/banks/BANK/customer/messages', { body: { messages: [] } });
    const { code, of } = await examine(bank.url, { ids: { 'bank-id': 'BANK', product: 'p' } });
    expect(of('getProduct')).toEqual([
      expect.stringMatching(/ \| 200 \| \d+ \| ok$/),
      'unknown Title',
      'unknown extra',
    ]);
    expect(of('getBranches').slice(1)).toEqual(['unknown branches[].address.zip (2 times)']);
    expect(code).toBe(0);
  });

  test('members in another spelling are drift, named in every record and at any depth', async () => {
    const branch = branchOf({ Name: 'n', address: { city: 'c', postCode: '1', line_1: 'l', line1: 'l' } });
    bank.on('GET /v1/api/banks/BANK/branches', {
      body: { branches: [branchOf({ name: 'n' }), branch, branch] },
    });
    const { code, of } = await examine(bank.url, { ids: { 'bank-id': 'BANK' } });
    expect(of('getBranches').slice(1)).toEqual([
      'drift branches[].Name: expected the name name; its value is not read (2 times)',
      'drift branches[].address.postCode: expected the name postcode; its value is not read (2 times)',
      'unknown branches[].address.line1 (2 times)',
    ]);
    expect(code).toBe(1);
  });

  test('what is taken for what it means is drift, with how often', async () => {
    const account = { balance: { amount: '05.00' }, owners: [{ id: 'o' }, { id: 'p' }], type: 't' };
    bank.otherwise({
      body: `\uFEFF${JSON.stringify([account, { ...account, id: 'a' }])}`,
      headers: { 'Content-Type': 'text/plain' },
    });
    const { code, of } = await examine(bank.url);
    expect(of('getAccountsScope').slice(1, 9)).toEqual([
      'drift amount: expected number, found string',
      'drift the content type is not that of JSON',
      'drift a byte order mark stands before the JSON',
      'drift the record or list is not where the contract has it',
      'drift accounts[].balance.amount: expected number, found string (2 times)',
      'drift accounts[].owners[]: expected string, found object (4 times)',
      'drift accounts[].type: expected array, found string (2 times)',
      expect.stringMatching(/\/permissions /),
    ]);
    expect(code).toBe(1);
  });

  test('a field that is nested thousands of levels deep is unknown, like others', async () => {
    bank.otherwise({ body: `{"email":"e","more":${'['.repeat(100_000)}${']'.repeat(100_000)}}` });
    const { code, of } = await examine(bank.url);
    expect(of('getCustomer').slice(1)).toEqual(['unknown more']);
    expect(of('getProduct').slice(1)).toEqual([
      "contract The bank's answer to getProduct holds nothing that the contract knows.",
    ]);
    expect(code).toBe(1);
  });

  test('an error with a success status is a refusal, and a record of which nothing is known no record', async () => {
    bank.otherwise({ body: { error: { message: 'not you' } } });
    const refused = await examine(bank.url);
    expect(refused.of('getCustomer')).toEqual([
      expect.stringMatching(/ \| 200 \| \d+ \| refused by the bank: not you$/),
    ]);
    bank.otherwise({ body: { routing_number: '7' } });
    const unknown = await examine(bank.url);
    expect([unknown.code, unknown.of('getCustomer').slice(1)]).toEqual([
      1,
      ["contract The bank's answer to getCustomer holds nothing that the contract knows."],
    ]);
    bank.otherwise({ body: {} });
    expect((await examine(bank.url)).of('getCustomer').slice(1)).toEqual([
      'drift the record, or the object around the list, has no member, or the list is null',
    ]);
  });

  test('the scope of a single account is examined, and whether it answers with the account of the path', async () => {
    bank.otherwise({ body: accountOf({ id: 'another' }) });
    const { of } = await examine(bank.url, { accountScope: 'account' });
    const [row, ...differences] = of('getAccountsScope');
    expect(row).toMatch(/\/account /);
    expect(differences.slice(0, 2)).toEqual([
      'drift the record or list is not where the contract has it',
      'drift accounts[].id: expected the id of the path, found another',
    ]);
    expect(bank.lines().filter((line) => line.endsWith('/account'))).toHaveLength(1);
  });

  test('a product and a transaction with another id than that of the path are drift', async () => {
    bank.otherwise({ body: { id: 'another' } });
    const { of } = await examine(bank.url);
    for (const operation of ['getProduct', 'getTransaction'])
      expect(of(operation).slice(1)).toEqual(['drift id: expected the id of the path, found another']);
  });

  test.each<[string, string | object, string]>([
    ['no object', '7', "contract The bank's answer to getBranches is not a JSON object."],
    ['broken JSON', '{"branches":[', "contract The bank's answer to getBranches is not JSON."],
    ['no list', { branches: {} }, 'contract The bank\'s answer to getBranches has no list under "branches".'],
    ['null for a record', { branches: [null] }, 'contract branches[]: expected object, found null'],
    [
      'a required field left out',
      { branches: [{}] },
      'contract branches[].acceptsDeposits: expected boolean, found nothing',
    ],
    [
      'a number out of range',
      '{"branches":[{"acceptsDeposits":true,"location":{"latitude":1e400}}]}',
      'contract branches[].location.latitude: expected number, found a number out of range',
    ],
  ])('%s is named', async (_what, body, difference) => {
    bank.otherwise({ body });
    expect((await examine(bank.url)).of('getBranches')).toContain(difference);
  });

  test('unknown fields without end are cut short', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field-${index}`, 1]));
    bank.otherwise({ body: { branches: [{ ...branchOf(), ...many }] } });
    const { of } = await examine(bank.url);
    expect(of('getBranches')).toHaveLength(22);
    expect(of('getBranches').at(-1)).toBe('unknown … and 30 more');
  });
});

const nobody = { subscriptionKey: null, authProviderName: null, authId: null };
const defaults = {
  ids: { 'bank-id': 'BANK', view: 'owner' },
  credentials: { ...nobody, subscriptionKey: 'k' },
};

test('takes ids and credentials from the command line, then from the environment, and the rest from the defaults', () => {
  const given = { account: 'a-1', view: 'auditor', iban: 'GR16 0110', 'auth-provider': 'p' };
  const environment = { DOCTOR_AUTH_PROVIDER_NAME: 'provider-1', DOCTOR_AUTH_ID: 'me' };
  expect(readDoctorOptions(given, environment, defaults)).toEqual({
    ids: { 'bank-id': 'BANK', view: 'auditor', account: 'a-1', iban: 'GR16 0110' },
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'me' },
  });
  expect(readDoctorOptions({}, { DOCTOR_SUBSCRIPTION_KEY: 'key-1' }, defaults).credentials).toEqual({
    ...nobody,
    subscriptionKey: 'key-1',
  });
});

test('white space at the ends is no part of a credential from the environment', () => {
  const read = (DOCTOR_AUTH_ID: string) => readDoctorOptions({}, { DOCTOR_AUTH_ID }, defaults).credentials;
  for (const given of ['me\n', ' me\r\n', '\uFEFFme']) expect(read(given).authId).toBe('me');
  expect(read('\r\n').authId).toBeNull();
  expect(() => read('mé')).toThrow(/^DOCTOR_AUTH_ID: The header Auth-ID /);
});

test('help names every variable', async () => {
  const { output } = await runCommand(['doctor', '--help']);
  for (const { variable } of Object.values(credentialOptions)) expect(output).toContain(variable);
});

describe('what it cannot use', () => {
  test.each<[string, readonly string[], string]>([
    ['an empty value', ['--key='], 'The header Ocp-Apim-Subscription-Key is empty'],
    ['an id for no path', ['--account=..'], '--account cannot be used as an id: it is a dot segment.'],
    [
      'a credential that no header takes',
      ['--key=secrét'],
      'The header Ocp-Apim-Subscription-Key is empty, or holds',
    ],
  ])('%s: the message names it, and repeats no value', async (_what, args, message) => {
    const { code, output, errors } = await runCommand(['doctor', ...args]);
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain(message);
    expect(errors).not.toMatch(/secr/);
  });

  test('without a subscription key, the error names the places where it is looked for', () => {
    expect(() => readDoctorOptions({}, {}, { ...defaults, credentials: nobody })).toThrow(
      'No operation can be called without a subscription key: set DOCTOR_SUBSCRIPTION_KEY, or give --key.',
    );
  });
});
