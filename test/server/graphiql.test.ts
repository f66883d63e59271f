import { describe, expect, test } from 'vitest';
import { exampleOperations } from '../../src/server/example-operations.ts';
import { hasBrowser, launchBrowser } from '../support/browser.ts';
import { startProcess } from '../support/process.ts';

describe.skipIf(!hasBrowser)('GraphiQL in a browser (skipped where no Chromium is installed)', () => {
  test('opens with its examples and alice’s headers, runs one, shows the schema, and loads nothing from outside', async () => {
    await using bankql = await startProcess();
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
      page.setDefaultTimeout(10_000);
      const requested: string[] = [];
      const failures: string[] = [];
      page.on('request', (request) => requested.push(request.url()));
      page.on('pageerror', (error) => failures.push(error.message));
      page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));

      await page.goto(`${bankql.url}/graphql`);
      const run = page.locator('.graphiql-execute-button');
      await run.waitFor();
      expect(await page.locator('.graphiql-tab').count()).toBe(exampleOperations.length);
      const [headers] = await Promise.all([
        page.waitForRequest((request) => request.postData()?.includes('query Overview') ?? false),
        run.click(),
      ]).then(([request]) => [request.headers()]);
      expect(headers).toMatchObject({
        'ocp-apim-subscription-key': 'sandbox-key',
        'auth-provider-name': 'sandbox',
        'auth-id': 'alice',
      });
      await page.locator('.result-window').getByText('4305.80').waitFor();
      // The README's picture is made here, where somebody asks for a new one.
      if (process.env.UPDATE_PICTURE) await page.screenshot({ path: 'docs/graphiql.png' });

      await page.getByLabel('Show Documentation Explorer').click();
      await page.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).waitFor();

      expect(requested.filter((url) => !url.startsWith(bankql.url) && !url.startsWith('blob:'))).toEqual([]);
      expect(failures).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
