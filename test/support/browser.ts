import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** Where Chromium is installed, by Debian's names; undefined where it is not. */
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export const hasBrowser = executablePath !== undefined;

/** A headless Chromium that calls nobody by itself. The test's time limit is its only one: give each context `setDefaultTimeout(0)`. */
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
