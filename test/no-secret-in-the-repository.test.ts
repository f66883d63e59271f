import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** The repository contains nothing that belongs to a person or a machine, and no installed package runs a script by itself. */

const root = join(import.meta.dirname, '..');

/** Texts that no file may contain. `samples` proves that each pattern finds its text. */
const patterns: Readonly<Record<string, RegExp>> = {
  'a private key': /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY/g,
  'a signed token': /\beyJ[\w-]{8,}\.[\w-]{2,}\.[\w-]+/g,
  'a token of a service':
    /\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|npm_\w{30,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|sk_live_\w{10,})/g,
  'a registry’s password': /_(?:auth|authToken|password)\s*=\s*\S+/g,
  'a password in a URL': /\b[a-z][a-z+.-]*:\/\/[^\s/:@'"`\][]*:[^\s/@'"`]+@[\w[${.:-]+/gi,
  'a registry’s host':
    /(?<![\w.])(?:registry|npm|artifactory|nexus|verdaccio|jfrog|pkgs)\.[\w-]+\.[a-z]{2,}/gi,
  'a path of somebody’s machine': /(?<![\w.\])}+-])(?:\/(?:work|home|root|Users)\/\w+|[A-Z]:\\Users\\)/g,
};

const samples: Readonly<Record<string, string>> = {
  'a private key': `-----BEGIN RSA ${'PRIVATE'} KEY-----`,
  'a signed token': `Bearer ${'eyJ'}hbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln`,
  'a token of a service': `gh${'p_'}0123456789abcdefghijklmn`,
  'a registry’s password': `//host/:_auth${'Token'}=abc`,
  'a password in a URL': `postgres://user${':'}word@host:1`,
  'a registry’s host': `https://${'registry'}.npmjs.org/x`,
  'a path of somebody’s machine': `"${'/home'}/me/bankql"`,
};

const made = 'made up for the test, at a host that is none';
/** Texts that match a pattern but are harmless: the file, the text, the reason. An unused entry fails too. */
const allowed: readonly (readonly [file: string, text: string, why: string])[] = [
  [
    'test/bank/credentials.test.ts',
    'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl',
    'claims nothing, signed by nobody',
  ],
  ['test/config/environment.test.ts', 'https://me:secret@bank.example', made],
  ['test/config/refused-settings.test.ts', 'https://me:pw@login.example', made],
  ['test/config/refused-settings.test.ts', 'ftp://user:pw@proxy.example', made],
  ['test/payments/store/state-url.test.ts', 'redis://ops:s3cr%@cache', made],
  ['docs/configuration.md', 'http://user:password@proxy.example:3128', made],
  ['src/config/variables.ts', 'http://user:password@proxy.example:3128', made],
  ['ops/helm/values.yaml', 'postgres://user:password@host', made],
  ['docs/operate.md', 'postgres://bankql:PASSWORD@HOST', made],
  ['test/config/environment.test.ts', 'redis://:secret@127.0.0.1', made],
  ['test/commands/command-line.test.ts', 'postgres://me:s3cret@db', made],
];

const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const hasGit = listed.status === 0;
if (!hasGit) process.stdout.write('skipped: the scan for secrets, since this is no git repository\n');

const found = (text: string) =>
  Object.entries(patterns).flatMap(([what, pattern]) =>
    [...text.matchAll(pattern)].map(([match]) => ({ what, match })),
  );

test.each(Object.entries(samples))('the scan finds %s', (what, sample) => {
  expect(found(sample).map((each) => each.what)).toEqual([what]);
});

test.skipIf(!hasGit)('no file holds a key, a token, a password, a registry or a path of one machine', () => {
  const files = listed.stdout.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  expect(files.length).toBeGreaterThan(300);
  const hits = files
    // The first file contains the samples and the exceptions; the second is a table of invented addresses.
    .filter(
      (file) =>
        ![
          'test/no-secret-in-the-repository.test.ts',
          'test/payments/store/postgres/postgres-url.test.ts',
        ].includes(file),
    )
    .flatMap((file) =>
      found(readFileSync(join(root, file), 'utf8')).map(({ what, match }) => ({ file, what, match })),
    );
  const isAllowed = (hit: { file: string; match: string }) =>
    allowed.some(([file, text]) => hit.file === file && hit.match === text);
  expect(hits.filter((hit) => !isAllowed(hit))).toEqual([]);
  const unused = allowed.filter(
    ([file, text]) => !hits.some((hit) => hit.file === file && hit.match === text),
  );
  expect(unused).toEqual([]);
});

describe('the lock', () => {
  interface Package {
    readonly license?: string;
    readonly resolved?: string;
    readonly dev?: boolean;
    readonly hasInstallScript?: boolean;
  }
  const { packages }: { packages: Readonly<Record<string, Package>> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const installed = Object.entries(packages).filter(([name]) => name !== '');
  const production = installed.filter(([, { dev }]) => dev !== true);

  test('holds no package that runs a script when it is installed: `npm ci --ignore-scripts` is enough', () => {
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name)).toEqual(
      [],
    );
  });

  test('holds no address of a registry', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([name]) => name)).toEqual([]);
  });

  test('holds nothing for production but what may be passed on with a notice', () => {
    const licences = new Set([
      'MIT',
      'ISC',
      'BSD-2-Clause',
      'BSD-3-Clause',
      '0BSD',
      'Apache-2.0',
      'BlueOak-1.0.0',
    ]);
    expect(production.length).toBeGreaterThan(50);
    const others = production
      .filter(([, { license }]) => license === undefined || !licences.has(license))
      .map(([name, { license }]) => `${name}: ${license}`);
    expect(others).toEqual([]);
  });
});

test('SECURITY.md names tests that exist', () => {
  const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const named = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
