import { expect, test } from 'vitest';
import { describeStartFailure } from '../../src/commands/start-failure.ts';
import { StartError } from '../../src/errors.ts';

const failure = (message: string, code: string, syscall: string) =>
  Object.assign(new Error(message), { code, syscall });

test.each([
  [
    failure('listen EACCES: permission denied 127.0.0.1:80', 'EACCES', 'listen'),
    'give a PORT of 1024 or above',
  ],
  [failure('listen EADDRINUSE: in use :::4000', 'EADDRINUSE', 'listen'), 'another process listens there'],
  [
    failure('listen EADDRNOTAVAIL: not available 203.0.113.5:4000', 'EADDRNOTAVAIL', 'listen'),
    'give another HOST',
  ],
  [failure('getaddrinfo ENOTFOUND no.invalid', 'ENOTFOUND', 'getaddrinfo'), 'no machine has this name'],
])('%s is one line that says what to do', (error, remedy) => {
  const said = describeStartFailure(error);
  expect(said.split('\n')).toHaveLength(1);
  expect(said).toContain(`${error.message}: `);
  expect(said).toContain(remedy);
});

test('an expected error is shown by its message alone, any other with its stack', () => {
  expect(describeStartFailure(new StartError('give a PORT'))).toBe('give a PORT');
  expect(describeStartFailure(new StartError('a\rb\u001B[2J\nc'))).toBe('a\\rb\\u{1b}[2J\nc');
  const surprise = failure('open ENOENT', 'ENOENT', 'open');
  expect(describeStartFailure(surprise)).toBe(surprise.stack);
  expect(describeStartFailure('thrown')).toBe('thrown');
});
