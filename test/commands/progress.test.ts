import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { createProgress } from '../../src/commands/terminal.ts';

afterEach(() => vi.unstubAllEnvs());

function createStream(isTTY: boolean) {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const terminal = {
    isTTY,
    columns: 80,
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => {
      text += '<clear>';
      return true;
    },
  };
  return {
    stream: Object.assign(stream, terminal) as unknown as NodeJS.WriteStream,
    text: () => stripVTControlCharacters(text),
  };
}

test('on a terminal it shows what is done now, and clears it when that is done', () => {
  vi.stubEnv('CI', undefined);
  vi.stubEnv('TERM', 'xterm');
  const { stream, text } = createStream(true);
  const progress = createProgress(stream);
  progress('one …');
  progress('two …');
  progress(null);
  expect(text()).toMatch(/one …[\s\S]*two …[\s\S]*<clear>$/);
});

test('elsewhere it says nothing, so that what is written can be read by a program', () => {
  const { stream, text } = createStream(false);
  const progress = createProgress(stream);
  progress('one …');
  progress(null);
  expect(text()).toBe('');
});
