import { expect, test } from 'vitest';
import { followInstalled } from '../support/followed-page.ts';

test('docs/quick-start.md gives the answers that it shows, from the first query to an app with types', async () => {
  const { file, executed, steps } = await followInstalled('quick-start.md');
  await expect(executed).toMatchFileSnapshot(file);
  expect(executed).toContain('"replayed": true');
  expect(executed).toContain('Everyday 4293.30 EUR');
  // `npm run check:quick-start` runs these.
  expect(steps).toEqual([
    expect.stringContaining('npm ci\nnpm start\n'),
    expect.stringContaining('npm install ../bankql\n'),
  ]);
});
