import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readExamples } from '../../../src/http/graphiql/page.ts';
import { hasBrowser, launchBrowser } from '../../support/browser.ts';
import { type BankqlProcess, startProcess } from '../../support/process.ts';
import { startServerFixture } from '../../support/server-fixture.ts';

const exampleOperations = await readExamples();

const nameOf = (example: string) => /^(?:query|mutation) (\w+)/m.exec(example)?.[1] ?? '';
/** While an operation is in progress, GraphiQL's button stops it, and has another name. */
const executeButton = (page: Page) => page.getByRole('button', { name: /^Execute query/ });
const isIntrospection = (request: Request) => request.postData()?.includes('IntrospectionQuery') === true;

/** Pages share a browser profile, which has cached the page's scripts; other data of a page is removed. */
describe.skipIf(!hasBrowser)('GraphiQL in a browser (skipped where no Chromium is installed)', () => {
  let bankql: BankqlProcess;
  let browser: Browser;
  let shared: BrowserContext;
  const failures: string[] = [];
  beforeAll(async () => {
    bankql = await startProcess();
    browser = await launchBrowser();
    shared = await newContext();
  });
  beforeEach(() => void failures.splice(0));
  afterAll(async () => {
    await browser.close();
    await bankql[Symbol.asyncDispose]();
  });

  async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(0);
    return context;
  }

  async function open(url = `${bankql.url}/graphql`, context = shared): Promise<Page> {
    const page = await context.newPage();
    // The page is closed, because an open page would use processor time during the next test.
    onTestFinished(() => page.close());
    await page.goto(new URL('/health', url).href);
    await page.evaluate(() => localStorage.clear());
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));
    await load(page, () => page.goto(url));
    return page;
  }

  /** Waits until GraphiQL has its schema and its editors. Before that, a click on its button has no effect. */
  async function load(page: Page, navigate: () => Promise<unknown>): Promise<void> {
    const introspection = page.waitForRequest(isIntrospection);
    await navigate();
    await (await introspection).response();
    await executeButton(page).waitFor();
    for (const pane of ['.graphiql-query-editor', '.result-window'])
      await page.locator(`${pane} .view-line`).first().waitFor({ state: 'attached' });
  }

  /** Runs the operation in the editor, and returns the request that was sent. */
  async function run(page: Page) {
    const sent = page.waitForRequest((request) => request.method() === 'POST' && !isIntrospection(request));
    await executeButton(page).click();
    const request = await sent;
    await request.response();
    return { headers: request.headers(), body: request.postDataJSON() };
  }

  /** The entries of the browser's storage with these names. */
  const kept = async (page: Page, names = /./): Promise<string> => {
    const all = await page.evaluate(() => Object.entries(localStorage));
    return JSON.stringify(Object.fromEntries(all.filter(([name]) => names.test(name))));
  };

  /** Replaces the headers in the editor. */
  async function typeHeaders(page: Page, headers: Readonly<Record<string, string>>): Promise<void> {
    await page.locator('section[aria-label=Headers] .view-lines').last().click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(JSON.stringify(headers));
  }

  test('the page opens with examples and headers, runs one, shows the schema, and loads nothing from other hosts', async () => {
    const page = await open();
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await load(page, () => page.reload());
    expect(await page.locator('.graphiql-tab').allTextContents()).toEqual(
      exampleOperations.map((example) => expect.stringContaining(nameOf(example))),
    );
    const { headers, body } = await run(page);
    expect(body.operationName).toBe('Overview');
    expect(headers).toMatchObject({
      'ocp-apim-subscription-key': 'sandbox-key',
      'auth-provider-name': 'sandbox',
      'auth-id': 'alice',
    });
    await page.locator('.result-window').getByText('4305.80').waitFor();
    await page.locator('.calls-list').waitFor();
    // Takes the README's picture if a new one is requested.
    if (process.env.UPDATE_PICTURE) await page.screenshot({ path: 'docs/graphiql.png' });

    await page.getByLabel('Show Documentation Explorer').click();
    await page.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).waitFor();

    expect(requested.filter((url) => !url.startsWith(bankql.url))).toEqual([]);
    expect(requested.filter((url) => url.endsWith('.worker.js'))).not.toEqual([]);
    expect(failures).toEqual([]);
  });

  test('each tab opens its example, also after a pane has moved and in a smaller window', async () => {
    const page = await open();
    const first = exampleOperations[0] ?? '';
    const openEach = async (examples: readonly string[]) => {
      for (const example of examples) {
        const name = nameOf(example);
        const button = page.getByRole('button', { name, exact: true });
        await button.and(page.locator('.graphiql-tab-button')).click();
        await page.locator('.graphiql-tab[aria-selected=true]', { hasText: name }).waitFor();
        const [firstLine = ''] = example.split('\n');
        await page.locator('.graphiql-query-editor .view-line', { hasText: firstLine }).waitFor();
      }
    };
    await openEach([...exampleOperations.slice(1), first]);
    await page.getByLabel('Show Documentation Explorer').click();
    await openEach([...exampleOperations.slice(-2), first]);
    await page.setViewportSize({ width: 800, height: 600 });
    await openEach([...exampleOperations.slice(-2), first]);
  });

  test('the page shows the REST calls of an operation as a waterfall, and not in the answer', async () => {
    const page = await open();
    const { headers } = await run(page);
    expect(headers['x-bankql-explain']).toBe('calls');
    await page.getByText('Overview made 9 REST calls in').waitFor();
    const rows = await page.locator('.calls-list > li').allTextContents();
    expect(rows.filter((row) => /200 · \d+ ms/.test(row))).toHaveLength(9);
    expect(rows[0]).toMatch(/^getCustomer200 · \d+ msviewer.customer$/);
    expect(rows.filter((row) => row.includes('loader'))).toEqual(['getCustomerloaderviewer.account.owners']);
    const bars = await page.locator('.calls-bar').evaluateAll((all) =>
      all.map((bar) => {
        const [own, track] = [bar.getBoundingClientRect(), bar.parentElement?.getBoundingClientRect()];
        return { from: own.left - (track?.left ?? 0), beyond: own.right - (track?.right ?? 0) };
      }),
    );
    expect(bars.every(({ from, beyond }) => from >= 0 && beyond < 1)).toBe(true);
    // Calls that need the accounts begin after the others.
    expect(bars[8]?.from).toBeGreaterThan(bars[1]?.from ?? 0);
    expect(await page.locator('.result-window').textContent()).not.toContain('explain');

    // A refused operation has no calls, and the panel says so: it must not show the calls of the operation before.
    await page.locator('.graphiql-query-editor .view-lines').click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText('query Refused { nothing }');
    // GraphiQL reads the operation's name a moment after it is typed, and sends the name that it has read.
    await page.locator('.graphiql-tab[aria-selected=true]', { hasText: 'Refused' }).waitFor();
    expect((await run(page)).body).toMatchObject({
      query: 'query Refused { nothing }',
      operationName: 'Refused',
    });
    await page.getByText('Refused was refused before it made a REST call.').waitFor();
    expect(await page.locator('.calls-summary, .calls-list').count()).toBe(0);

    await page.getByLabel('REST calls').last().uncheck();
    expect((await run(page)).headers['x-bankql-explain']).toBeUndefined();
    await page.reload();
    expect(await page.getByLabel('REST calls').last().isChecked()).toBe(false);
  });

  test('the page shows the REST operations and the member of a field', async () => {
    const page = await open();
    const rowsFor = async (text: string, first: string) => {
      await page.getByLabel('A field in REST').fill(text);
      await page.locator('.calls-search li', { hasText: first }).first().waitFor();
      return page.locator('.calls-search li').allTextContents();
    };
    expect(await rowsFor('Bank.branches', 'Bank.branches')).toEqual([
      'Bank.branchesgetBranches, postBranches',
    ]);
    expect(await rowsFor('branch.bankId', 'Branch.bankId')).toEqual(['Branch.bankIdno call']);
    expect(await rowsFor('swift_bic', 'Account.swiftBic')).toContain('OtherAccount.swiftBicswift_bic');
    expect(failures).toEqual([]);
  });

  test('the page keeps tabs and the headers of the sandbox over a reload', async () => {
    const page = await open();
    await typeHeaders(page, {
      'Ocp-Apim-Subscription-Key': 'sandbox-key',
      'Auth-Provider-Name': 'sandbox',
      'Auth-ID': 'bob',
    });
    expect((await run(page)).headers['auth-id']).toBe('bob');
    // GraphiQL stores headers a moment after they are typed: for the tab, and as the headers that were typed
    // last. The text of another tab also contains "bob", so the header's name is in the pattern.
    await expect.poll(() => kept(page, /tabState/)).toMatch(/Auth-ID\W+bob/);
    await expect.poll(() => kept(page, /headers/)).toMatch(/Auth-ID\W+bob/);
    await page.reload();
    await page.locator('section[aria-label=Headers] .view-line', { hasText: 'bob' }).waitFor();
    expect(await page.locator('.graphiql-tab').count()).toBe(exampleOperations.length);
  });

  test('the page keeps headers for a real bank only while its setting says so', async () => {
    await using fixture = await startServerFixture({ graphiql: { headers: null } });
    const page = await open(fixture.url);
    expect(await page.locator('#calls').isVisible()).toBe(false);
    await typeHeaders(page, { 'Ocp-Apim-Subscription-Key': 'typed-secret' });
    expect((await run(page)).headers['ocp-apim-subscription-key']).toBe('typed-secret');
    await expect.poll(() => kept(page)).toMatch(/tabState/);
    expect(await kept(page)).not.toContain('typed-secret');

    await page.getByLabel('Open settings dialog').click();
    await page.getByRole('dialog').getByRole('button', { name: 'On', exact: true }).click();
    await expect.poll(() => kept(page)).toContain('typed-secret');
    await page.getByRole('dialog').getByRole('button', { name: 'Off', exact: true }).click();
    await expect.poll(() => kept(page)).not.toContain('typed-secret');
  });

  test('the page has its panes below each other on a phone', async () => {
    const context = await newContext({
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      colorScheme: 'dark',
    });
    onTestFinished(() => context.close());
    const page = await open(undefined, context);
    await run(page);
    await page.locator('.calls-list').waitFor();
    const boxes = await Promise.all(
      ['.graphiql-editors', '.graphiql-response', '#calls'].map((pane) => page.locator(pane).boundingBox()),
    );
    let bottom = 0;
    for (const box of boxes) {
      expect(box?.y).toBeGreaterThanOrEqual(bottom);
      expect(box?.width).toBeGreaterThan(350);
      bottom = (box?.y ?? 0) + (box?.height ?? 0);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(failures).toEqual([]);
  });
});
