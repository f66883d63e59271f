import { pino } from 'pino';
import { expect, test } from 'vitest';
import { logOptions } from '../../src/telemetry/log.ts';

test('shows no part of a secret that an error’s message was cut in', () => {
  const secret = 'secret-'.padEnd(255, 'x');
  const lines: string[] = [];
  const logger = pino(logOptions('info', [secret]), { write: (line: string) => void lines.push(line) });
  logger.error({ err: new Error(`${secret} `.repeat(30)) }, 'failed');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('[redacted] [redacted]');
  expect(lines[0]).not.toContain('secr');
});
