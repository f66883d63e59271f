import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  checkWitness,
  createMarkWriter,
  describeLoss,
  type HighWaterMark,
  readMark,
} from '../../src/payments/high-water-mark.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();

const day = 24 * 60 * 60 * 1000;
const monday = Date.UTC(2026, 0, 12);
const mark = (change: Partial<HighWaterMark> = {}): HighWaterMark => ({
  storeId: 'first',
  began: 202,
  newestAt: monday + day,
  ...change,
});

describe('describeLoss', () => {
  test.each([
    ['the same', mark()],
    ['more', mark({ began: 300, newestAt: monday + 2 * day })],
  ])('finds nothing missing from a store that holds %s', (_, held) => {
    expect(describeLoss(held, mark(), 'the mark')).toBeNull();
  });

  test('finds nothing missing where nothing was ever begun', () => {
    expect(
      describeLoss(mark({ storeId: 'other' }), mark({ began: 0, newestAt: null }), 'the mark'),
    ).toBeNull();
  });

  test.each([
    [
      'fewer',
      mark({ began: 190, newestAt: monday }),
      'it has lost records: the mark knows of 202 payments until 2026-01-13T00:00:00.000Z, and it holds 190 of them; missing is what began after 2026-01-12T00:00:00.000Z',
    ],
    [
      'none',
      mark({ began: 0, newestAt: null }),
      'it has lost records: the mark knows of 202 payments until 2026-01-13T00:00:00.000Z, and it holds 0 of them; missing is all of them',
    ],
    [
      'none, because it is new',
      mark({ storeId: 'second', began: 0, newestAt: null }),
      'it has lost records: the mark knows of 202 payments until 2026-01-13T00:00:00.000Z, and it is new and holds none of them',
    ],
    [
      'those of another store',
      mark({ storeId: 'second', began: 900 }),
      'it has lost records: the mark knows of 202 payments until 2026-01-13T00:00:00.000Z, and it is another store, of 900 payments until 2026-01-13T00:00:00.000Z',
    ],
  ])('says what is missing from a store that holds %s', (_, held, sentence) => {
    expect(describeLoss(held, mark(), 'the mark')).toBe(sentence);
  });
});

describe('a mark in a file', () => {
  test('is what was written last, for its owner alone, with nothing left beside it', async () => {
    const file = join(folder, 'last.mark');
    const failures: (string | null)[] = [];
    const writer = createMarkWriter(file, (reason) => failures.push(reason));
    expect(readMark(file)).toBeNull();
    await Promise.all(Array.from({ length: 100 }, (_, n) => writer(mark({ began: n + 1 }))));
    expect(readMark(file)).toEqual(mark({ began: 100 }));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['last.mark']);
    expect(failures).toEqual([]);
  });

  test('is never lowered, but follows the store to another identity', async () => {
    const file = join(folder, 'follows.mark');
    const writer = createMarkWriter(file, () => {});
    await writer(mark({ began: 9 }));
    await writer(mark({ began: 3 }));
    expect(readMark(file)).toEqual(mark({ began: 9 }));
    await writer(mark({ storeId: 'second', began: 1 }));
    expect(readMark(file)).toEqual(mark({ storeId: 'second', began: 1 }));
  });

  test('is not lowered by a process that comes late', async () => {
    const file = join(folder, 'shared.mark');
    const [early, late] = [createMarkWriter(file, () => {}), createMarkWriter(file, () => {})];
    await early(mark({ began: 9 }));
    await late(mark({ began: 3 }));
    expect(readMark(file)).toEqual(mark({ began: 9 }));
    await late(mark({ began: 10 }));
    expect(readMark(file)).toEqual(mark({ began: 10 }));
    writeFileSync(file, 'damaged');
    await late(mark({ began: 11 }));
    expect(readMark(file)).toEqual(mark({ began: 11 }));
  });

  test('whose folder goes away is told about once, and once when it can be written again', async () => {
    const gone = join(folder, 'gone');
    const file = join(gone, 'x.mark');
    const told: (string | null)[] = [];
    const writer = createMarkWriter(file, (reason) => told.push(reason));
    await writer(mark({ began: 1 }));
    await writer(mark({ began: 2 }));
    expect(told).toEqual([expect.stringContaining('ENOENT')]);
    mkdirSync(gone);
    await writer(mark({ began: 3 }));
    expect(told).toEqual([expect.stringContaining('ENOENT'), null]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(mark({ began: 3 }));
  });

  test.each(['', '{', '{}', '{"storeId":"a","began":-1,"newestAt":null}'])(
    'is refused where it is %j',
    (text) => {
      const file = join(folder, 'broken.mark');
      writeFileSync(file, text);
      expect(() => readMark(file)).toThrow(`the high-water mark ${file} cannot be read (it holds no mark)`);
    },
  );
});

test('a witness needs a folder that may be written', async () => {
  const file = join(folder, 'missing', 'witness');
  await expect(checkWitness(file)).rejects.toThrow(`STATE_WITNESS is ${file}: it has to name a file`);
  await expect(checkWitness(join(folder, 'witness'))).resolves.toBeUndefined();
  expect(existsSync(join(folder, 'witness'))).toBe(false);
});
