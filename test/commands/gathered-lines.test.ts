import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { GatheredLines } from '../../src/commands/log-output.ts';

function gather(maxBytes: number) {
  const written: string[] = [];
  return { written, lines: new GatheredLines(maxBytes, (text) => written.push(text)) };
}

test('lines are written together once the first of them has waited long enough', () => {
  vi.useFakeTimers();
  try {
    const { written, lines } = gather(1000);
    lines.write('a\n');
    vi.advanceTimersByTime(99);
    lines.write('b\n');
    expect(written).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(written).toEqual(['a\nb\n']);
    vi.advanceTimersByTime(1000);
    lines.write('c\n');
    vi.advanceTimersByTime(100);
    expect(written).toEqual(['a\nb\n', 'c\n']);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('no more bytes than may be written at once, and no line in parts', () => {
  const { written, lines } = gather(10);
  for (const line of ['1234\n', '5678\n', 'ä\n', 'one that is longer\n', 'é\n']) lines.write(line);
  expect(written).toEqual(['1234\n5678\n', 'ä\n', 'one that is longer\n']);
  expect(lines.take()).toBe('é\n');
});

test('a line from `warn` on does not wait, nor do those before it', () => {
  const { written, lines } = gather(1000);
  const log = pino({ timestamp: false, base: null }, lines);
  log.info('a');
  expect(written).toEqual([]);
  log.warn('b');
  log.error('c');
  log.info('d');
  expect(written).toEqual(['{"level":30,"msg":"a"}\n{"level":40,"msg":"b"}\n', '{"level":50,"msg":"c"}\n']);
  expect(lines.take()).toBe('{"level":30,"msg":"d"}\n');
});

test('what is taken is not written as well', () => {
  vi.useFakeTimers();
  try {
    const { written, lines } = gather(1000);
    lines.write('a\n');
    expect(lines.take()).toBe('a\n');
    expect(lines.take()).toBe('');
    vi.advanceTimersByTime(1000);
    expect(written).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});
