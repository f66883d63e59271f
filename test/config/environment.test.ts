import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError, resolveEnvironment, unknownVariables } from '../../src/config/environment.ts';
import { fileWriter, testFolder } from '../support/test-folder.ts';

/** The values that readConfig refuses. */
function refused(environment: Record<string, string>): ConfigError {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

test('all values that cannot be used are named at once, a line each', () => {
  const { problems, message } = refused({
    PORT: 'x',
    EXPLORE: 'perhaps',
    MAX_REST_CALLS: '0',
    METRICS_PORT: '4100',
    PERSISTED_ONLY: 'on',
    LIMIT_DEPTH: '20',
    BNAK_BASE_URL: 'https://me:secret@bank.example',
  });
  expect(problems.map(({ variable }) => variable)).toEqual([
    'MAX_REST_CALLS',
    'PORT',
    'EXPLORE',
    'PERSISTED_ONLY',
    'LIMIT_DEPTH',
    'BNAK_BASE_URL',
  ]);
  expect(message.split('\n')).toHaveLength(6);
  expect(message).not.toContain('secret');
});

test('what follows from a value that cannot be used is not named beside it', () => {
  const { problems } = refused({
    IDENTITY: 'x',
    IDENTITY_AUDIENCE: 'bankql',
  });
  expect(problems.map(({ variable }) => variable)).toEqual(['IDENTITY']);
});

describe('an unknown name', () => {
  test.each([
    ['BNAK_BASE_URL', 'BANK_BASE_URL'],
    ['BANK_BASEURL', 'BANK_BASE_URL'],
    ['PERSISTED_DOCUMENT', 'PERSISTED_DOCUMENTS'],
    ['STATE_ALOW_VOLATIL', 'STATE_ALLOW_VOLATILE'],
    ['STATE_URI', 'STATE_URL'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['METRIC_PORT', 'METRICS_PORT'],
  ])('%s stops the start, and %s is suggested', (name, meant) => {
    const { message } = refused({ [name]: 'secret' });
    expect(message).toBe(`${name}=… cannot be used: no variable has this name: did you mean ${meant}?`);
  });

  test.each(['BANK_URL', 'IDENTITY_ISSUER_URL', 'STATE_'])(
    '%s stops the start without a suggestion',
    (name) => {
      expect(refused({ [name]: 'secret' }).message).toBe(
        `${name}=… cannot be used: no variable has this name: \`bankql help settings\` lists all, and CHANGELOG.md says what became of earlier ones.`,
      );
    },
  );

  test.each([
    ['HOSTNAME', 'web-1'],
    ['POST', 'x'],
    ['XDG_STATE_HOME', '/var/lib'],
    ['NODE_ENVIRONMENT', 'test'],
    ['BNAK_BASE_URL', ''],
    // Platforms set these variables for every program.
    ['STATE_DIRECTORY', '/var/lib/bankql'],
    ['IDENTITY_ENDPOINT', 'http://169.254.1.1'],
    ['IDENTITY_HEADER', 'x'],
    ['LOG_FILE', 'x'],
    ['STORE_URL', 'x'],
    ['METRICS_PATH', 'x'],
    ['HTTP_PROXY', 'http://proxy.example:3128'],
    ['HTTPS_PROXY', 'http://proxy.example:3128'],
    ['NO_PROXY', '*'],
    ['OTEL_SDK_DISABLED', 'false'],
    ['OTEL_TRACES_SAMPLER', 'xray'],
  ])('%s=%s is not ours', (name, value) => {
    expect(unknownVariables({ [name]: value })).toEqual([]);
  });
});

const folder = testFolder();

const fileWith = fileWriter(folder);

test('the environment comes first, then the last of the files; an empty variable counts as unset', () => {
  const first = fileWith('first.env', 'PORT=1\nHOST=first\nBANK_ID="A B"\n');
  const second = fileWith('second.env', '# a remark\nHOST=second\n');
  const { environment, sources } = resolveEnvironment({ PORT: '2', BANK_ID: '' }, [first, second]);
  expect(environment).toEqual({ PORT: '2', HOST: 'second', BANK_ID: 'A B' });
  expect(Object.fromEntries(sources)).toEqual({ HOST: second, BANK_ID: first });
});

test.each([
  [
    'both are set',
    { BANK_SUBSCRIPTION_KEY: 'k' },
    'k-2',
    'BANK_SUBSCRIPTION_KEY is set too: leave one of them out.',
  ],
  ['there is no file', {}, null, 'the file cannot be read: ENOENT.'],
])('where %s the start says so', (_what, own, text, remedy) => {
  const file = text === null ? join(folder, 'none') : fileWith('secret', text);
  expect(() => resolveEnvironment({ ...own, BANK_SUBSCRIPTION_KEY_FILE: file }, [])).toThrow(
    `BANK_SUBSCRIPTION_KEY_FILE=${file} cannot be used: ${remedy}`,
  );
});

test('a file of variables that cannot be read is named', () => {
  const file = join(folder, 'none.env');
  expect(() => resolveEnvironment({}, [file])).toThrow(
    `--env-file ${file} cannot be used: the file cannot be read: ENOENT.`,
  );
});

test('a setting of an earlier version stops the start with its replacement, and without its value', () => {
  for (const name of ['LOG_LEVEL_FILE', 'COMPRESSION_FILE'])
    expect(() => readConfig({ [name]: 'redis://:secret@127.0.0.1' })).toThrow(
      new RegExp(`^${name}=… cannot be used: this setting was removed: `),
    );
  // Unknown names with a prefix of bankql's are refused although no list contains them.
  for (const name of ['RATE_LIMIT_URL', 'RATE_LIMIT_URL_FILE', 'BANK_CONNECTION_PER_CALLER', 'SANDBOX_NOW'])
    expect(() => readConfig({ [name]: 'redis://:secret@127.0.0.1' })).toThrow(
      new RegExp(`^${name}=… cannot be used: no variable has this name`),
    );
  expect(() => readConfig({ LIMIT_DEPTH: '20' })).toThrow(
    'LIMIT_DEPTH=… cannot be used: this setting was removed: fixed now: 15 (levels in a query).',
  );
  expect(() => readConfig({ GRAPHIQL: 'on', HTTPS_PROXY: 'x' })).toThrow(/^GRAPHIQL=… .* EXPLORE=on/);
  expect(() => readConfig({ RATE_LIMIT_URL: '' })).not.toThrow();
});
