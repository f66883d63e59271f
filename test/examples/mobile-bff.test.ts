import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, print } from 'graphql';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasBrowser, launchBrowser } from '../support/browser.ts';
import { isPayment, type LiveBankql, startLiveBankql } from '../support/live-bankql.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'examples/mobile-bff');
const settings = Object.fromEntries(
  [...readFileSync(join(folder, 'bankql.env'), 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

/**
 * The simple login server as a process.
 * Errors: an Error if it ended.
 */
async function startIssuer() {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(folder, 'issuer.ts')],
    {
      env: { PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = once(child, 'close');
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text: string) => resolve(/http\S+/.exec(text)?.[0] ?? ''));
    void ended.then(() => reject(new Error('the login server ended')));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url, [Symbol.asyncDispose]: stop };
}

describe('examples/mobile-bff', () => {
  const stack = new AsyncDisposableStack();
  let issuer: string;
  let bankql: LiveBankql;
  let browser: Browser;

  beforeAll(async () => {
    issuer = stack.use(await startIssuer()).url;
    bankql = stack.use(
      await startLiveBankql({
        ...settings,
        IDENTITY_JWKS_URL: `${issuer}keys`,
        IDENTITY_ISSUER: issuer,
        // The period is shorter than in a real app, so that the test waits less.
        RATE_LIMIT: '10/5',
        CORS_ORIGINS: new URL(issuer).origin,
      }),
    );
    if (hasBrowser) {
      browser = await launchBrowser();
      stack.defer(() => browser.close());
    }
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(async () => {
    bankql.bank.recorder.otherwise(bankql.bank.forward).calls.length = 0;
    await fetch(`${bankql.bank.sandbox.url}/sandbox/reset`, { method: 'POST' });
  });

  const tokenOf = async (customer: string) => {
    const body = JSON.stringify({ customer, pin: '1234' });
    const answer = await (await fetch(`${issuer}token`, { method: 'POST', body })).json();
    return (answer as { access_token: string }).access_token;
  };
  async function post(body: object, headers: Readonly<Record<string, string>>) {
    const response = await fetch(`${bankql.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const { data, errors } = (await response.json()) as {
      data: unknown;
      errors?: { extensions: { code: string; retryAfter?: number } }[];
    };
    return { status: response.status, data, error: errors?.[0]?.extensions };
  }

  test('its manifest has each of its operations, by the SHA-256 of its text', () => {
    const texts = Object.entries<string>(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));
    for (const [id, text] of texts) expect(hash('sha256', text)).toBe(id);
    const normalized = (document: string) => print(parse(document));
    const operations = readdirSync(join(folder, 'operations')).map((file) =>
      normalized(readFileSync(join(folder, 'operations', file), 'utf8')),
    );
    expect(texts.map(([, text]) => normalized(text)).sort()).toEqual(operations.sort());
  });

  test('serves the app’s documents to the token’s customer, and nothing else to anybody', async () => {
    const { Home: documentId } = (await (await fetch(`${issuer}operations.json`)).json()) as { Home: string };
    const bearer = { Authorization: `Bearer ${await tokenOf('yuki')}` };
    expect(await post({ documentId }, {})).toMatchObject({ status: 401, error: { code: 'UNAUTHENTICATED' } });
    expect(await post({ documentId }, { ...bearer, 'Auth-ID': 'alice' })).toMatchObject({
      status: 400,
      error: { code: 'BAD_USER_INPUT' },
    });
    expect(await post({ query: '{ __typename }' }, bearer)).toMatchObject({
      status: 400,
      error: { code: 'PERSISTED_DOCUMENT_REQUIRED' },
    });
    expect(bankql.bank.recorder.calls).toEqual([]);

    const { data } = await post({ documentId }, bearer);
    expect(data).toMatchObject({ viewer: { customer: {}, account: { accountId: 'yuki-current' } } });
    const sent = bankql.bank.recorder.calls[0]?.headers;
    expect(sent).toMatchObject({
      'ocp-apim-subscription-key': 'sandbox-key',
      'auth-provider-name': 'sandbox',
      'auth-id': 'yuki',
    });
    expect(JSON.stringify(sent)).not.toContain(bearer.Authorization);
  });

  test('beyond the limit what needs the bank fails and says when to come again, and what does not is answered', async () => {
    const ids = (await (await fetch(`${issuer}operations.json`)).json()) as { Home: string; Payment: string };
    const bearer = { Authorization: `Bearer ${await tokenOf('bob')}` };
    const home = () => post({ documentId: ids.Home }, bearer);
    let answer = await home();
    for (let asked = 1; answer.error === undefined && asked < 20; asked++) answer = await home();
    expect(answer).toMatchObject({ status: 200, error: { code: 'RATE_LIMITED' } });
    expect(answer.error?.retryAfter).toBeGreaterThan(0);
    const payment = await post({ documentId: ids.Payment, variables: { idempotencyKey: 'k' } }, bearer);
    expect(payment).toEqual({ status: 200, data: { payment: null }, error: undefined });
    expect(bankql.bank.recorder.calls).toHaveLength(10);
  });

  describe.skipIf(!hasBrowser)('on a phone (skipped where no Chromium is installed)', () => {
    /** Opens the page and signs in. Each test uses another customer, because limits are counted for each customer. */
    async function open(customer: string): Promise<Page> {
      const context = await browser.newContext({
        viewport: { width: 390, height: 844 },
        isMobile: true,
        hasTouch: true,
      });
      context.setDefaultTimeout(0);
      const page = await context.newPage();
      await page.goto(`${issuer}?bankql=${bankql.url}`);
      await signIn(page, customer);
      return page;
    }
    async function signIn(page: Page, customer: string): Promise<void> {
      await page.getByLabel('Customer').fill(customer);
      await page.getByLabel('PIN').fill('1234');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Refresh' }).waitFor();
      expect(await page.getByLabel('PIN').isVisible()).toBe(false);
    }

    test('a transfer whose page is reloaded before its end is made once, and its outcome is shown', async () => {
      const page = await open('alice');
      await page.getByText('€4,305.80').waitFor();
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      bankql.bank.recorder.otherwise(async (call) => {
        if (isPayment(call)) await promise;
        return bankql.bank.forward(call);
      });
      await page.getByLabel('Amount').fill('5.80');
      await page.getByRole('button', { name: 'Put aside' }).click();
      await expect.poll(() => bankql.payments().length).toBe(1);
      await page.reload();
      await signIn(page, 'alice');
      await page.getByText('Do not pay again').waitFor();
      answer();
      // An impatient person tries again: this must be the same payment.
      await page.getByLabel('Amount').fill('5.80');
      await page.getByRole('button', { name: 'Put aside' }).click();
      await page.getByText('Done: the bank has accepted it.').waitFor();
      await page.getByText('€4,300.00').waitFor();
      expect(bankql.payments().map(({ body }) => JSON.parse(body).to)).toEqual([
        { account_id: 'alice-savings', bank_id: 'SNDBCY2N' },
      ]);
      if (process.env.UPDATE_PICTURE) await page.screenshot({ path: join(folder, 'phone.png') });
    });

    // This is another customer than bob, who may have reached his limit in the test above.
    test('a transfer of unknown outcome is shown in another tab, after its own was closed', async () => {
      const page = await open('carol');
      bankql.bank.recorder.otherwise(async (call) => {
        const reply = await bankql.bank.forward(call);
        return isPayment(call) ? 'reset' : reply;
      });
      const unknown = 'It may have been done: do not pay again';
      await page.getByLabel('Amount').fill('5.80');
      await page.getByRole('button', { name: 'Put aside' }).click();
      await page.getByText(unknown).waitFor();
      const another = await page.context().newPage();
      await another.goto(page.url());
      await page.close();
      await signIn(another, 'carol');
      await another.getByText(unknown).waitFor();
      // This is still the same transfer.
      await another.getByLabel('Amount').fill('5.80');
      await another.getByRole('button', { name: 'Put aside' }).click();
      await another.getByText(unknown).waitFor();
      expect(bankql.payments()).toHaveLength(1);
    });
  });
});
