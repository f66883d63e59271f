import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { misspelledVariables, readVariables } from '../../src/config/environment.ts';

/** What readConfig refuses. */
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
    GRAPHIQL: 'perhaps',
    LIMIT_DEPTH: '0',
    BANK_TIMEOUT_MS: '100',
    BNAK_BASE_URL: 'https://me:secret@bank.example',
  });
  expect(problems.map(({ variable }) => variable)).toEqual([
    'LIMIT_DEPTH',
    'PORT',
    'GRAPHIQL',
    'BANK_CONNECT_TIMEOUT_MS',
    'BNAK_BASE_URL',
  ]);
  expect(message.split('\n')).toHaveLength(5);
  expect(message).not.toContain('secret');
});

test('what follows from a value that cannot be used is not named beside it', () => {
  const { problems } = refused({ BANK_TIMEOUT_MS: 'x', BANK_CONNECT_TIMEOUT_MS: '9000' });
  expect(problems.map(({ variable }) => variable)).toEqual(['BANK_TIMEOUT_MS']);
});

test('a variable that cannot be used has its default beside its problem', () => {
  const { values, problems } = readVariables({ PORT: '70000' });
  expect(values.PORT).toBe(4000);
  expect(problems).toEqual([
    { variable: 'PORT', value: '70000', remedy: expect.stringContaining('from 0 to 65535') },
  ]);
});

describe('a name that is almost one of ours', () => {
  test.each([
    ['BNAK_BASE_URL', 'BANK_BASE_URL'],
    ['BANK_BASEURL', 'BANK_BASE_URL'],
    ['PERSISTED_DOCUMENT', 'PERSISTED_DOCUMENTS'],
    ['STATE_ALOW_VOLATIL', 'STATE_ALLOW_VOLATILE'],
    ['HTTP_PROXYS', 'HTTPS_PROXY'],
  ])('%s stops the start, and %s is suggested', (name, meant) => {
    const { message } = refused({ [name]: 'secret' });
    expect(message).toBe(`${name}=… cannot be used: no variable has this name: did you mean ${meant}?`);
  });

  test.each([
    ['HOSTNAME', 'web-1'],
    ['BANK_SERVICE_HOST', '10.0.0.1'],
    ['BANK_PORT', 'tcp://10.0.0.1:80'],
    ['POST', 'x'],
    ['XDG_STATE_HOME', '/var/lib'],
    ['NODE_ENVIRONMENT', 'test'],
    ['BNAK_BASE_URL', ''],
    // Environments set these for every program.
    ['HTTP_PROXY', 'http://proxy.example:3128'],
    ['WS_PROXY', 'http://proxy.example:3128'],
  ])('%s=%s is none', (name, value) => {
    expect(misspelledVariables({ [name]: value })).toEqual([]);
  });
});
