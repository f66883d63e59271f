import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { credentials } from './support/bankql.ts';
import { claims, createKey, issuerName, sign, startIssuer } from './support/issuer.ts';
import { logLines } from './support/log-lines.ts';
import { accept, startPaymentBank } from './support/payment-bank.ts';
import { pay, transfer } from './support/payment-client.ts';
import { type BankqlProcess, post, startProcess } from './support/process.ts';
import { testFolder } from './support/test-folder.ts';
import { untilFound } from './support/waits.ts';

/** SIGHUP reloads the files, and ends nothing. SIGUSR2 ends nothing either if there are no workers. */

const folder = testFolder();

const linesWith = ({ output }: BankqlProcess, words: string) => logLines(output(), words);

/** Sends the signal, and waits for the line that says whether the files were reloaded. */
async function reload(bankql: BankqlProcess): Promise<unknown> {
  const before = linesWith(bankql, 'SIGHUP: ').length;
  bankql.child.kill('SIGHUP');
  const line = await untilFound(() => {
    if (bankql.child.signalCode !== null || bankql.child.exitCode !== null) throw new Error('it ended');
    return linesWith(bankql, 'SIGHUP: ')[before];
  });
  return line.reloaded;
}

test('a payment in progress ends normally', async () => {
  await using bank = await startPaymentBank();
  const arrived = Promise.withResolvers<() => void>();
  bank.decide = (payment) => (socket) => arrived.resolve(() => accept(payment)(socket));
  const manifest = join(folder, 'under-way.json');
  writeFileSync(manifest, JSON.stringify({ any: '{ __typename }' }));
  await using bankql = await startProcess({
    PERSISTED_DOCUMENTS: manifest,
    BANK_BASE_URL: bank.url,
    STATE_URL: `sqlite:${join(folder, 'state.db')}`,
  });
  const paid = pay(bankql.url, transfer('under way'));
  const answer = await arrived.promise;
  for (let n = 0; n < 3; n++) expect(await reload(bankql)).toEqual(['persisted documents']);
  answer();
  const trackId = bank.of('under%20way')[0]?.trackId;
  expect(await paid).toMatchObject({ code: 'DONE', replayed: false, trackId });
  expect(bank.payments).toHaveLength(1);
  expect(await bankql.stop()).toBe(0);
});

test('SIGUSR2 leaves a warning that there are no workers, and ends nothing', async () => {
  await using bankql = await startProcess();
  bankql.child.kill('SIGUSR2');
  const line = await untilFound(() => linesWith(bankql, 'SIGUSR2')[0]);
  expect(line).toMatchObject({ level: 40, msg: expect.stringContaining('there are no workers') });
  expect(await bankql.stop()).toBe(0);
});

test('the manifest is read anew; a bad one leaves a line, and what was read before stands', async () => {
  const manifest = join(folder, 'manifest.json');
  const write = (documents: object) => writeFileSync(manifest, JSON.stringify(documents));
  write({ first: '{ __typename }' });
  await using bankql = await startProcess({ PERSISTED_DOCUMENTS: manifest, PERSISTED_ONLY: '1' });
  const ask = async (documentId: string) => {
    const response = await fetch(`${bankql.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials },
      body: JSON.stringify({ documentId }),
    });
    const { data, errors } = await response.json();
    return data?.__typename ?? data?.name ?? errors?.[0]?.extensions.code;
  };
  expect(await Promise.all(['first', 'second'].map(ask))).toEqual(['Query', 'PERSISTED_DOCUMENT_REQUIRED']);

  write({ second: '{ name: __typename }' });
  expect(await reload(bankql)).toEqual(['persisted documents']);
  expect(await Promise.all(['first', 'second'].map(ask))).toEqual(['PERSISTED_DOCUMENT_REQUIRED', 'Query']);

  write({ third: '{ nowhere }' });
  expect(await reload(bankql)).toBeUndefined();
  expect(linesWith(bankql, 'not reloaded')).toMatchObject([
    { level: 50, what: 'persisted documents', reason: expect.stringContaining('document third') },
  ]);
  expect(await Promise.all(['second', 'third'].map(ask))).toEqual(['Query', 'PERSISTED_DOCUMENT_REQUIRED']);
});

test('a version of an app is retired when its manifest leaves the folder; a clash leaves a line, and all stay', async () => {
  const apps = join(folder, 'apps');
  mkdirSync(apps);
  const write = (app: string, documents: object) =>
    writeFileSync(join(apps, `${app}.json`), JSON.stringify(documents));
  write('ios-4.1', { both: '{ __typename }', old: '{ old: __typename }' });
  write('ios-4.2', { both: '{ __typename }', new: '{ new: __typename }' });
  await using bankql = await startProcess({ PERSISTED_DOCUMENTS: apps, PERSISTED_ONLY: 'on' });
  const served = async () => {
    const statusOf = async (documentId: string) =>
      (await fetch(`${bankql.url}/graphql?documentId=${documentId}`, { headers: credentials })).status;
    return Promise.all(['both', 'old', 'new'].map(statusOf));
  };
  expect(await served()).toEqual([200, 200, 200]);

  write('ios-4.3', { new: '{ other: __typename }' });
  expect(await reload(bankql)).toBeUndefined();
  expect(linesWith(bankql, 'not reloaded')).toMatchObject([
    {
      level: 50,
      reason: expect.stringContaining('ios-4.3.json: document new: it has another text in ios-4.2'),
    },
  ]);
  expect(await served()).toEqual([200, 200, 200]);

  unlinkSync(join(apps, 'ios-4.3.json'));
  unlinkSync(join(apps, 'ios-4.1.json'));
  expect(await reload(bankql)).toEqual(['persisted documents']);
  expect(await served()).toEqual([200, 400, 200]);
});

test('the keys that verify tokens are fetched anew; where they cannot be, the old ones stand', async () => {
  const [old, fresh] = await Promise.all([createKey('ES256', 'old'), createKey('ES256', 'fresh')]);
  await using issuer = await startIssuer(old);
  await using bankql = await startProcess({
    BANK_SUBSCRIPTION_KEY: 'sandbox-key',
    IDENTITY: 'jwt',
    IDENTITY_JWKS_URL: issuer.jwksUrl,
    IDENTITY_ISSUER: issuerName,
    IDENTITY_AUDIENCE: 'bankql',
    IDENTITY_CLAIMS: 'provider sub',
  });
  const token = await sign(old, claims({ provider: 'sandbox' }));
  const ask = () => post(bankql.url, '{ __typename }', { Authorization: `Bearer ${token}` });
  expect(await ask()).toEqual({ data: { __typename: 'Query' } });

  issuer.behave = (response) => void response.writeHead(500).end();
  expect(await reload(bankql)).toBeUndefined();
  expect(linesWith(bankql, 'not reloaded')).toMatchObject([{ what: 'token keys' }]);
  expect(await ask()).toEqual({ data: { __typename: 'Query' } });

  // The issuer has revoked the key: after SIGHUP it is not accepted any more.
  issuer.behave = null;
  issuer.keys = [fresh.jwk];
  expect(await reload(bankql)).toEqual(['token keys']);
  expect(await ask()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
});
