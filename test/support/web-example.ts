import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { isPayment, startLiveBankql } from './live-bankql.ts';
import type { RecordedCall, Reply } from './recording-bank.ts';
import type { SandboxRecorder } from './sandbox-recorder.ts';

export const webFolder = join(import.meta.dirname, '../../examples/web');

/** The example app as it was built, over a bankql process, over the sandbox bank. */
export interface WebExample extends AsyncDisposable {
  readonly url: string;
  readonly bank: SandboxRecorder;
  readonly browser: Browser;
  /** Opens the app in a profile of its own, and signs in where a login is given. */
  open(login: string | null, options?: BrowserContextOptions): Promise<Page>;
  /** The payments that reached the bank. */
  payments(): RecordedCall[];
  /** What the bank does with payments from now on; as the sandbox does where left out. */
  onPayment(act?: (call: RecordedCall) => Promise<Reply | 'reset'>): void;
}

/** Serves what `vite build` made. Errors: what it printed, where it ended instead. */
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

export async function startWebExample(): Promise<WebExample> {
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
