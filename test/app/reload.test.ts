import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createReload } from '../../src/app/reload.ts';
import { takeAll } from '../../src/commands/command.ts';

/** The lines that a reload of these sources logs. */
async function linesOf(sources: Parameters<typeof createReload>[1]) {
  const lines: { readonly msg: string }[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  await createReload(logger, sources)();
  return lines;
}

const good = async () => {};
const bad = () => Promise.reject(new Error('it is empty'));

test('a reload names the files that were reloaded, and those that were not', async () => {
  expect(await linesOf({ level: good, documents: bad, keys: null })).toMatchObject([
    { level: 50, what: 'documents', reason: 'it is empty' },
    { level: 30, reloaded: ['level'], msg: 'SIGHUP: reloaded' },
  ]);
});

test('if nothing could be reloaded, no line says that something was', async () => {
  const lines = await linesOf({ level: bad, documents: bad });
  expect(lines.map(({ msg }) => msg)).toEqual(
    Array.from({ length: 2 }, () => 'SIGHUP: not reloaded, the previous one stays in use'),
  );
});

test('where there is nothing to reload, a line says so', async () => {
  expect((await linesOf({ keys: null })).map(({ msg }) => msg)).toEqual([
    'SIGHUP: there is nothing to reload',
  ]);
});

test('a stop takes every step in order, also those after one that failed', async () => {
  const taken: number[] = [];
  const refused = new Error('refused');
  const stopped = takeAll([
    async () => taken.push(1),
    () => Promise.reject(refused),
    () => taken.push(2),
    () => {
      throw refused;
    },
    () => taken.push(3),
  ]);
  await expect(stopped).rejects.toMatchObject({ errors: [refused, refused] });
  expect(taken).toEqual([1, 2, 3]);
});
