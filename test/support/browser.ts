import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** The path of Chromium under Debian's names; undefined if it is not installed. */
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasBrowser = executablePath !== undefined;

/**
 * A headless Chromium that makes no requests by itself. The test's time limit is the only one: give each context
 * `setDefaultTimeout(0)`.
 */
export const launchBrowser = () =>
  chromium.launch({
    timeout: 0,
    ...(executablePath === undefined ? {} : { executablePath }),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
