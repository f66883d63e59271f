import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plain } from '../../src/config/help.ts';
import { limitRows } from '../../src/load/fixed-limits.ts';
import { pending } from '../payments/store/store-conformance.ts';
import { inStore } from '../support/operate.ts';
import { runCommand } from '../support/run-command.ts';
import { testFolder } from '../support/test-folder.ts';

async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  sources?: ReadonlyMap<string, string>,
) {
  const { code, output, errors } = await runCommand(['check', ...args], { environment, sources });
  return { code, errors, lines: output.split('\n').filter((line) => line !== '') };
}

test('check is quiet where all can be used, and else names every value and every name that cannot', async () => {
  expect(await run([], {})).toMatchObject({
    code: 0,
    lines: ['Settings; the others have their defaults:', 'The configuration can be used.'],
  });
  const { errors, lines } = await run([], { PORT: 'x', MAX_REST_CALLS: '0', BNAK_BASE_URL: 'u' });
  expect(lines).toEqual([]);
  expect(errors.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^MAX_REST_CALLS=0 cannot be used/),
    expect.stringMatching(/^PORT=x cannot be used/),
    expect.stringMatching(
      /^BNAK_BASE_URL=… cannot be used: no variable has this name: did you mean BANK_BASE_URL/,
    ),
  ]);
});

test('check prints the fixed limits if it is asked for them', async () => {
  expect((await run(['--limits'], {})).lines).toEqual([
    'Settings; the others have their defaults:',
    'Fixed limits:',
    ...limitRows().map(({ value, meaning }) =>
      expect.stringMatching(new RegExp(`^ +${value}  ${plain(meaning).slice(0, 20)}`)),
    ),
    'The configuration can be used.',
  ]);
});

test('check --no-store leaves out a store that cannot be reached, and prints each variable that is set, with its source, and no secret', async () => {
  const { code, errors, lines } = await run(
    ['--no-store'],
    {
      PORT: '4100',
      BANK_SUBSCRIPTION_KEY: 'top-secret-key',
      STATE_URL: `postgres://user:${'top-secret'}@127.0.0.1:1/bankql`,
      LOG_LEVEL: 'warn',
      HOST: '',
    },
    new Map([['LOG_LEVEL', 'production.env']]),
  );
  expect([code, errors]).toEqual([0, '']);
  expect(lines.slice(1, -1).map((line) => line.replace(/ +/g, ' '))).toEqual([
    ' BANK_SUBSCRIPTION_KEY=… # environment',
    ' STATE_URL=postgres://…@127.0.0.1:1/bankql # environment',
    ' PORT=4100 # environment',
    ' LOG_LEVEL=warn # production.env',
  ]);
  expect(lines.join()).not.toContain('top-secret');
});

const folder = testFolder();

const bank = { BANK_BASE_URL: 'https://bank.example', BANK_ID: 'BANK' };
test.each([
  ['postgres://u@a.example/db?sslrootcert=/none.pem', 'a file of STATE_URL cannot be used'],
  [
    'postgres://u@127.0.0.1:1/db',
    'The payment store postgres://127.0.0.1:1/db cannot be reached: connect ECONNREFUSED',
  ],
])('check refuses the payment store %s, as the start does', async (STATE_URL, fault) => {
  const { errors, lines } = await run([], { ...bank, STATE_URL });
  expect([errors, lines]).toEqual([expect.stringContaining(fault), []]);
});

test('check says what the payment store holds, and writes nothing to it or next to it', async () => {
  const path = join(folder, 'held', 'state.db');
  await inStore(`sqlite:${path}`, (store) => store.begin(pending(), 120_000));
  const files = () =>
    readdirSync(join(folder, 'held')).map((name) => readFileSync(join(folder, 'held', name)));
  const before = files();
  const { code, lines } = await run([], { ...bank, STATE_URL: `sqlite:${path}` });
  expect(code).toBe(0);
  expect(lines.at(-2)).toMatch(/^Payment records: the newest is \d+ s old; 1 PENDING, 0 UNKNOWN\.$/);
  expect(files()).toEqual(before);
});

test('check accepts the default store of a bank on this machine, whose folder the start creates', async () => {
  const { code } = await run([], { BANK_BASE_URL: 'http://127.0.0.1:9', BANK_ID: 'BANK' });
  expect(code).toBe(0);
});

test('check warns of a receipt without a status, which alone makes a payment DONE', async () => {
  const given = { BANK_BASE_URL: 'http://127.0.0.1:9', BANK_ID: 'BANK', BANK_PAYMENT_RECEIPT: 'data.id' };
  const warning = /BANK_PAYMENT_RECEIPT without BANK_PAYMENT_STATUS/;
  const warned = await run([], given);
  expect(warned.code).toBe(0);
  expect(warned.lines.join('')).toMatch(warning);
  const both = await run([], { ...given, BANK_PAYMENT_STATUS: 'data.status' });
  expect(both.lines.join('')).not.toMatch(warning);
});

test('check warns of payments that a restart forgets, as the start does', async () => {
  const warning =
    'STATE_URL=memory: payments are forgotten at a restart, and a payment that is requested again is then sent again.';
  expect((await run([], { ...bank, STATE_URL: 'memory:' })).lines).toContain(warning);
  expect((await run([], { STATE_URL: 'memory:' })).lines).not.toContain(warning);
});

test('check warns of tokens that can all pay', async () => {
  const given = {
    ...{ BANK_BASE_URL: 'https://bank.example', BANK_ID: 'BANK', STATE_URL: 'memory:', IDENTITY: 'jwt' },
    ...{
      BANK_SUBSCRIPTION_KEY: 'key',
      IDENTITY_ISSUER: 'https://login.example/',
      IDENTITY_AUDIENCE: 'bankql',
    },
    IDENTITY_JWKS_URL: 'https://login.example/jwks.json',
  };
  const warning = /IDENTITY=jwt without IDENTITY_PAYMENT_SCOPE/;
  const warned = await run([], given);
  expect(warned.code).toBe(0);
  expect(warned.lines.join('')).toMatch(warning);
  const scoped = await run([], { ...given, IDENTITY_PAYMENT_SCOPE: 'payments' });
  expect(scoped.lines.join('')).not.toMatch(warning);
});

test('check names the apps whose documents it has checked, and those whose documents do not fit the schema', async () => {
  const PERSISTED_DOCUMENTS = join(folder, 'apps');
  mkdirSync(PERSISTED_DOCUMENTS);
  const write = (app: string, text: string) =>
    writeFileSync(join(PERSISTED_DOCUMENTS, `${app}.json`), JSON.stringify({ [app]: text }));
  write('android-7', '{ __typename }');
  write('ios-4.2', '{ viewer { account { label } } }');
  expect((await run([], { PERSISTED_DOCUMENTS })).lines).toContain(
    'Manifests of persisted documents: android-7, ios-4.2.',
  );
  write('ios-4.1', '{ viewer { account { colour } } }');
  const { code, errors } = await run([], { PERSISTED_DOCUMENTS });
  expect([code, errors]).toEqual([
    1,
    `PERSISTED_DOCUMENTS=${PERSISTED_DOCUMENTS} cannot be used: ios-4.1.json: document ios-4.1: Cannot query field "colour" on type "Account".\n`,
  ]);
});
