import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StartError } from '../../src/errors.ts';
import { startBankql } from '../../src/index.ts';
import { initStore } from '../../src/payments/store/open-store.ts';
import { real as bank, type Given, tokens as identity } from '../support/environments.ts';
import { runCommand } from '../support/run-command.ts';
import { fileWriter, testFolder } from '../support/test-folder.ts';

/** `bankql check` accepts an environment if and only if bankql starts with it. */

const folder = testFolder();
const fileWith = fileWriter(folder);
for (const name of ['data', 'apps', 'broken-apps']) mkdirSync(join(folder, name));

const quiet = { PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' };
const real = { ...bank, BANK_ID: 'BANK' };
const tokens = { ...real, ...identity };
const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
const manifest = JSON.stringify({ a: '{ bank { bankId } }' });
fileWith('apps/ios-4.1.json', manifest);
fileWith('apps/ios-4.2.json', manifest);
fileWith('broken-apps/ios-4.1.json', manifest);
fileWith('broken-apps/ios-4.2.json', JSON.stringify({ a: '{ gone }', b: '{' }));
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** The error message of a start; null if the start succeeds. */
async function start(environment: Given): Promise<string | null> {
  try {
    const bankql = await startBankql({ environment });
    await bankql.stop();
    return null;
  } catch (error) {
    // Any other error would be printed with a stack.
    if (!(error instanceof StartError)) throw error;
    return error.message;
  }
}

const wrapped = ['\r\n', ' ', '\u0007', '"'];
const texts: Given = {
  STATE_URL: `sqlite:${folder}/data/s.db`,
  HOST: '127.0.0.1',
  BANK_PROXY: 'http://proxy.example:3128',
  BANK_SUBSCRIPTION_KEY: 'k-1',
  IDENTITY_ISSUER: 'https://login.example/',
  IDENTITY_AUDIENCE: 'bankql',
  IDENTITY_JWKS_URL: 'https://login.example/jwks.json',
  PERSISTED_DOCUMENTS: fileWith('manifest.json', manifest),
  CORS_ORIGINS: 'https://app.example',
};

test.each<Given>([
  {},
  real,
  tokens,
  ...Object.entries(texts).flatMap(([name, value]) =>
    wrapped.map((end) => ({ ...tokens, [name]: (end === '"' ? end : '') + value + end })),
  ),
  ...[
    `http://user:${'p%ss'}@127.0.0.1:9`,
    `http://:${'token'}@127.0.0.1:9`,
    `http://u:${'p%25'}@127.0.0.1:9`,
    'tcp://a',
    'a:1',
  ].flatMap((proxy) => [
    { ...real, BANK_PROXY: proxy },
    { ...tokens, BANK_PROXY: proxy },
  ]),
  ...['localhost', 'LOCALHOST', '[127.0.0.1]', '127.1', '0', '*', 'localhost:1', '::1%lo'].map((HOST) => ({
    HOST,
  })),
  ...['capacitor://localhost', 'http://[::1]:3000', '*', 'https://*.example', 'null'].map((CORS_ORIGINS) => ({
    CORS_ORIGINS,
  })),
  ...['true', 'false', 'maybe'].map((OTEL_SDK_DISABLED) => ({ ...traced, OTEL_SDK_DISABLED })),
  ...['a=b', 'a=%', 'a', 'a=%0A'].flatMap((text) => [
    { ...traced, OTEL_EXPORTER_OTLP_HEADERS: text },
    { ...traced, OTEL_RESOURCE_ATTRIBUTES: text },
  ]),
  { SANDBOX_PORT: 'tcp://10.0.0.1:80', ...real },
  { METRICS_PORT: 'tcp://10.0.0.1:80' },
  { PERSISTED_DOCUMENTS: fileWith('marked.json', `\uFEFF${manifest}`) },
  { PERSISTED_DOCUMENTS: fileWith('utf16.json', Buffer.from(manifest, 'utf16le')) },
  { PERSISTED_DOCUMENTS: `${folder}/apps`, PERSISTED_ONLY: 'log' },
  { PERSISTED_DOCUMENTS: `${folder}/broken-apps` },
  { PERSISTED_DOCUMENTS: `${folder}/data` },
  { LOG_LEVEL_FILE: 'level', LIMIT_DEPTH: '3' },
  { ...real, STATE_URL: `sqlite:${folder}/none/s.db` },
  { ...real, STATE_URL: '', BANK_BASE_URL: 'http://127.0.0.1:9', NODE_ENV: 'production' },
  { ...real, STATE_URL: `sqlite:${folder}/data` },
  ...[pem, `\uFEFF${pem}`, ` ${pem}`, 'x', ''].map((content, index) => ({
    ...real,
    BANK_TLS_CA: fileWith(`ca${index}.pem`, content),
  })),
  { ...real, BANK_TLS_CA: fileWith('cut.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n') },
  { ...real, BANK_TLS_CA: fileWith('ca16.pem', Buffer.from(pem, 'utf16le')) },
  { ...tokens, RATE_LIMIT: '1/1', RATE_LIMIT_URL: 'redis://127.0.0.1:9' },
  { VIEWER_CUSTOMER_ID: '{auth-id' },
])('%j', async (environment) => {
  const given = { ...quiet, ...environment };
  const { code, errors } = await runCommand(['check'], { environment: given });
  const failure = await start(given);
  expect(failure === null ? '' : `${failure}\n`).toBe(errors);
  expect(code).toBe(failure === null ? 0 : 1);
  expect(errors).not.toMatch(/[\p{Cf}]|[^\P{Cc}\n]/u);
});

test.each(['\n', '\r\n', ' ', '\uFEFF'])(
  'a payment store with %j behind its name is the one without it',
  async (end) => {
    mkdirSync(join(folder, 'store'), { recursive: true });
    const named = `sqlite:${folder}/store/state.db`;
    await initStore(named);
    for (const STATE_URL of [named, named + end])
      expect(await start({ ...quiet, ...real, STATE_URL })).toBeNull();
    const files = readdirSync(join(folder, 'store'));
    expect(files.filter((file) => !file.startsWith('state.db'))).toEqual([]);
    expect(files.filter((file) => file !== file.trim())).toEqual([]);
  },
);
