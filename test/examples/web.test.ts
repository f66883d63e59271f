import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasBrowser, launchBrowser } from '../support/browser.ts';
import { isPayment, startLiveBankql } from '../support/live-bankql.ts';
import type { RecordedCall, Reply } from '../support/recording-bank.ts';
import type { SandboxRecorder } from '../support/sandbox-recorder.ts';

const webFolder = join(import.meta.dirname, '../../examples/web');

/** The built example app, with a bankql process and the sandbox bank. */
interface WebExample extends AsyncDisposable {
  readonly url: string;
  readonly bank: SandboxRecorder;
  readonly browser: Browser;
  /** Opens the app in a new browser profile, and signs in if a login is given. */
  open(login: string | null, options?: BrowserContextOptions): Promise<Page>;
  /** The payments that reached the bank. */
  payments(): RecordedCall[];
  /** Sets the bank's behaviour for payments from now on; without an argument, the sandbox's. */
  onPayment(act?: (call: RecordedCall) => Promise<Reply | 'reset'>): void;
}

/**
 * Serves the output of `vite build`.
 * Errors: an Error with the output, if the server ended.
 */
async function startPreview(bankqlUrl: string) {
  const vite = join(webFolder, 'node_modules/vite/bin/vite.js');
  const child = spawn(process.execPath, [vite, 'preview', '--host', '127.0.0.1', '--port', '0'], {
    cwd: webFolder,
    env: { PATH: process.env.PATH, NO_COLOR: '1', BANKQL_URL: bankqlUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [, found] = /Local:\s+(http:\/\/\S+)\//.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
    void ended.then(() => reject(new Error(`vite ended: ${output}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url, [Symbol.asyncDispose]: stop };
}

async function startWebExample(): Promise<WebExample> {
  await using stack = new AsyncDisposableStack();
  const { url, bank, payments } = stack.use(await startLiveBankql());
  const preview = stack.use(await startPreview(url));
  const browser = await launchBrowser();
  stack.defer(() => browser.close());
  const owned = stack.move();
  return {
    url: preview.url,
    bank,
    browser,
    async open(login, options) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      context.setDefaultTimeout(0);
      const page = await context.newPage();
      await page.goto(preview.url);
      if (login !== null) {
        await page.getByRole('button', { name: login }).click();
        await page.getByRole('heading', { name: 'Hello' }).waitFor();
      }
      return page;
    },
    payments,
    onPayment: (act = bank.forward) =>
      void bank.recorder.otherwise((call) => (isPayment(call) ? act(call) : bank.forward(call))),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** `npm run check:examples` installs and builds the app before it runs these tests. */
const isBuilt = process.env.EXAMPLES === 'built';

/** The pictures in the README. */
const pictures = [
  'desktop-overview',
  'phone-overview',
  'phone-transfer',
  'phone-paid',
  'phone-not-confirmed',
];

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } as const;

describe.skipIf(!hasBrowser || !isBuilt)(
  'examples/web in a browser (npm run check:examples, where Chromium is installed)',
  () => {
    let app: WebExample;
    beforeAll(async () => {
      app = await startWebExample();
    });
    beforeEach(async () => {
      app.onPayment();
      await fetch(`${app.bank.sandbox.url}/sandbox/reset`, { method: 'POST' });
      app.bank.recorder.calls.length = 0;
    });
    afterAll(() => app[Symbol.asyncDispose]());

    const heading = (page: Page, name: string | RegExp) =>
      page.getByRole('heading', { level: 1, name, exact: typeof name === 'string' }).waitFor();
    const payButton = (page: Page) => page.getByRole('button', { name: /^Pay/ });

    /** Fills in a transfer to Alice's savings without sending it. */
    async function fillIn(page: Page, amount = '12.50'): Promise<void> {
      await page.getByRole('link', { name: 'Pay', exact: true }).click();
      await page.getByLabel('To', { exact: true }).selectOption('alice-savings');
      await page.getByLabel('Amount in EUR').fill(amount);
      await page.getByLabel('What it is for').fill('Put aside');
    }

    describe('pays once', () => {
      test('at a double click', async () => {
        const page = await app.open('Alice');
        await fillIn(page);
        await payButton(page).dblclick();
        await heading(page, 'Paid');
        expect(app.payments().map(({ body }) => JSON.parse(body))).toEqual([
          expect.objectContaining({ description: 'Put aside', value: { currency: 'EUR', amount: 12.5 } }),
        ]);
      });

      test('where the form is sent twice before the page can show that it was', async () => {
        const page = await app.open('Alice');
        await fillIn(page);
        await page.locator('form').evaluate((form: HTMLFormElement) => {
          form.requestSubmit();
          form.requestSubmit();
        });
        await heading(page, 'Paid');
        expect(app.payments()).toHaveLength(1);
      });

      test('where the answer is lost on its way to the browser', async () => {
        const page = await app.open('Alice');
        await fillIn(page);
        let lost = 0;
        await page.route('**/graphql', async (route) => {
          if (lost > 0 || !route.request().postData()?.includes('makeTransaction')) return route.continue();
          lost++;
          await route.fetch();
          return route.abort('connectionreset');
        });
        await payButton(page).click();
        await heading(page, 'Paid');
        expect([lost, app.payments().length]).toEqual([1, 1]);
      });

      test('where the page is loaded again before the bank has answered', async () => {
        const page = await app.open('Alice');
        await fillIn(page);
        const { promise, resolve: answer } = Promise.withResolvers<void>();
        app.onPayment(async (call) => {
          await promise;
          return app.bank.forward(call);
        });
        await payButton(page).click();
        await expect.poll(() => app.payments().length).toBe(1);
        await page.reload();
        await heading(page, 'Under way');
        await page.getByText('Do not pay again').waitFor();
        answer();
        await heading(page, 'Paid');
        await page.getByText('€12.50').waitFor();
        expect(app.payments()).toHaveLength(1);

        // After the person has seen the outcome, the next transfer is a new one.
        await page.getByRole('button', { name: 'Start another payment' }).click();
        await page.getByLabel('Amount in EUR').waitFor();
        expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual(['sandbox-bank:login']);
      });
    });

    test('pays whom the list of payees names, by what bankql says of them, and the person’s own accounts too', async () => {
      const page = await app.open('Alice');
      for (const [name, accountId, bankId] of [
        ['Reisebahn', 'payee-rail', 'TSTBDEBB'],
        ['Αλίκη', 'alice-savings', 'SNDBCY2N'],
      ] as const) {
        await page.getByRole('link', { name: 'Payees', exact: true }).click();
        await page.getByRole('link', { name: new RegExp(`^Pay.*${name}`) }).click();
        await page.getByLabel('Amount in EUR').fill('1.00');
        await payButton(page).click();
        await heading(page, 'Paid');
        const { path, body } = app.payments().at(-1) ?? { path: '', body: '{}' };
        expect([path, JSON.parse(body).to]).toEqual([
          '/v1/api/banks/SNDBCY2N/accounts/alice-current/make-transaction',
          { account_id: accountId, bank_id: bankId },
        ]);
      }
      expect(app.payments()).toHaveLength(2);
    });

    test('says of a payment that the bank did not confirm what is known, after a reload too, and offers no second one', async () => {
      const page = await app.open('Alice');
      await fillIn(page);
      app.onPayment(async (call) => {
        await app.bank.forward(call);
        return 'reset';
      });
      await payButton(page).click();
      for (const when of ['at once', 'after a reload']) {
        await heading(page, 'Not confirmed');
        const said = await page.locator('main').innerText();
        expect(said, when).toContain('It may have been paid. Do not pay again');
        expect(said).toContain(app.payments()[0]?.headers['track-id']);
        await page.getByRole('button', { name: 'Ask again' }).click();
        await heading(page, 'Not confirmed');
        expect(await page.locator('main').getByRole('button').allInnerTexts()).toEqual([
          'Ask again',
          'Back to the overview',
        ]);
        if (when === 'at once') await page.reload();
      }
      await page.getByRole('button', { name: 'Back to the overview' }).click();
      // The overview shows the payment too.
      await heading(page, /^Hello/);
      await page.getByText('Not confirmed', { exact: true }).waitFor();
      expect(app.payments()).toHaveLength(1);
    });

    test('can be sent again where it never left the browser, and is made once', async () => {
      const page = await app.open('Alice');
      await fillIn(page);
      const isLost = Promise.withResolvers<void>();
      await page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('makeTransaction')) return route.continue();
        isLost.resolve();
        return route.abort('connectionreset');
      });
      await payButton(page).click();
      await isLost.promise;
      await page.reload();
      await heading(page, 'No answer yet');
      await page.unroute('**/graphql');
      await page.getByRole('button', { name: 'Send it again' }).click();
      await heading(page, 'Paid');
      expect(app.payments()).toHaveLength(1);
    });

    test.each([
      ['a desktop, light', 'desktop', { colorScheme: 'light' }],
      ['a phone, dark', 'phone', { ...phone, colorScheme: 'dark' }],
    ] as const)('on %s each view fits, and axe finds nothing in it', async (_what, name, options) => {
      const page = await app.open(null, options);
      const failures: string[] = [];
      page.on('pageerror', (error) => failures.push(error.message));
      page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));

      /** Checks a view with axe-core and at the width of the screen. Takes a picture of it if new ones are requested. */
      async function check(view: string): Promise<void> {
        await page.mouse.move(0, 0);
        await page.addScriptTag({ path: join(webFolder, 'node_modules/axe-core/axe.min.js') });
        const violations = await page.evaluate(async () => {
          const { axe } = globalThis as unknown as {
            axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
          };
          return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
        });
        expect(violations, view).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), view).toBe(
          name === 'phone' ? phone.viewport.width : 1280,
        );
        if (process.env.UPDATE_PICTURE && pictures.includes(`${name}-${view}`))
          await page.screenshot({ path: join(webFolder, `pictures/${name}-${view}.png`) });
      }

      await check('sign-in');
      await page.getByRole('button', { name: 'Alice' }).click();
      // The amount has more digits than a double can represent.
      await page.getByText('€9,007,199,254,740,993.25').waitFor();
      await check('overview');
      await page.getByRole('link', { name: /^Everyday/ }).click();
      await page.getByText('Αλίκη Παπαδοπούλου').waitFor();
      await check('account');
      await page.getByRole('link', { name: 'Payees', exact: true }).click();
      await page.getByText('10 of 10 payees').waitFor();
      await check('payees');
      await fillIn(page);
      await check('transfer');
      await page.getByLabel('Amount in EUR').fill('nothing');
      await payButton(page).click();
      await page.getByText('Write an amount').waitFor();
      await check('transfer-problem');
      await page.getByLabel('Amount in EUR').fill('12.50');
      await payButton(page).click();
      await heading(page, 'Paid');
      await check('paid');
      app.onPayment(async () => 'reset');
      await fillIn(page);
      await payButton(page).click();
      await heading(page, 'Not confirmed');
      await check('not-confirmed');
      expect(failures).toEqual([]);
    });
  },
);
