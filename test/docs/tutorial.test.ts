import { expect, test } from 'vitest';
import { followInstalled } from '../support/followed-page.ts';

test('docs/tutorial.md gives the answers that it shows, and its payment is made once', async () => {
  const { file, executed } = await followInstalled('tutorial.md');
  await expect(executed).toMatchFileSnapshot(file);
  expect(executed.match(/Paid\. Your balance is 4293\.30 EUR\./g)).toHaveLength(2);
});
