import { copyFile, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readBankTls, type TlsFiles, warnOfExpiry, watchBankTls } from '../../src/app/bank-tls.ts';
import { type Certificates, createCertificates, hasOpenssl } from '../support/certificates.ts';
import { runCommand } from '../support/run-command.ts';

describe.skipIf(!hasOpenssl)('the files with certificates for the bank', () => {
  let certificates: Certificates;
  let files: TlsFiles;
  let other: { readonly cert: string; readonly key: string };
  beforeAll(async () => {
    certificates = await createCertificates();
    files = { ...(await certificates.client('one')), ca: certificates.ca };
    other = await certificates.client('other');
  });
  afterAll(() => certificates[Symbol.asyncDispose]());

  test('are read, each alone or together', async () => {
    await readBankTls(files);
    await readBankTls({ ...files, ca: undefined });
    await readBankTls({ cert: undefined, key: undefined, ca: files.ca });
  });

  test('are warned of when they expire within 30 days, and when they have', async () => {
    const read = await readBankTls(files);
    expect([...read.expiries.keys()]).toEqual(['BANK_TLS_CERT', 'BANK_TLS_CA']);
    const days = 24 * 60 * 60 * 1000;
    const expiry = read.expiries.get('BANK_TLS_CERT') ?? 0;
    const linesAt = (now: number) => {
      const lines: unknown[] = [];
      const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
      warnOfExpiry({ ...read, expiries: new Map([['BANK_TLS_CERT', expiry]]) }, logger, now);
      return lines;
    };
    expect(linesAt(expiry - 31 * days)).toEqual([]);
    expect(linesAt(expiry - 29.5 * days)).toMatchObject([
      { level: 40, file: 'BANK_TLS_CERT', days: 29, msg: 'a certificate for the bank expires soon' },
    ]);
    expect(linesAt(expiry + 1)).toMatchObject([{ level: 50, msg: 'a certificate for the bank has expired' }]);
  });

  test('that are missing or have expired fail `bankql check`, which prints when the others expire', async () => {
    const check = (more: Readonly<Record<string, string>>) => {
      const environment = { BANK_BASE_URL: 'https://bank.example', STATE_URL: 'memory:', ...more };
      return runCommand(['check'], { environment });
    };
    const named = { BANK_TLS_CERT: files.cert ?? '', BANK_TLS_KEY: files.key ?? '' };
    const { output } = await check({ ...named, BANK_TLS_CA: files.ca ?? '' });
    const expiry = (await readBankTls(files)).expiries.get('BANK_TLS_CERT') ?? 0;
    expect(output.split('\n').filter((line) => line.startsWith('The certificate'))).toEqual([
      `The certificate in BANK_TLS_CERT expires on ${new Date(expiry).toISOString()}, in 0 days.`,
      expect.stringMatching(/^The certificate in BANK_TLS_CA expires on /),
    ]);
    expect((await check({ ...named, BANK_TLS_CERT: '/absent.pem' })).errors).toBe(
      'BANK_TLS_CERT=/absent.pem cannot be read: ENOENT.\n',
    );
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 24 * 60 * 60 * 1000 });
    try {
      const { errors } = await check(named);
      expect(errors).toMatch(/^BANK_TLS_CERT cannot be used: its certificate expired on /);
    } finally {
      vi.useRealTimers();
    }
  });

  test('that cannot be used are named', async () => {
    const absent = join(certificates.folder, 'absent.pem');
    await expect(readBankTls({ ...files, cert: absent })).rejects.toThrow(
      `BANK_TLS_CERT=${absent} cannot be read: ENOENT.`,
    );
    await expect(readBankTls({ ...files, key: other.key })).rejects.toThrow(
      /^BANK_TLS_CERT, BANK_TLS_KEY, BANK_TLS_CA cannot be used: .*ERR_OSSL_X509_KEY_VALUES_MISMATCH/,
    );
    await expect(readBankTls({ cert: undefined, key: undefined, ca: other.key })).rejects.toThrow(
      /^BANK_TLS_CA cannot be used: .* \(a certificate is missing, or not whole\)\.$/,
    );
  });

  test('are compared with their keys, also if the types of the keys differ, for the bank and for the store', async () => {
    const rsa = await certificates.client('rsa', 'rsa');
    await readBankTls({ ...rsa, ca: undefined });
    const { cert = '' } = files;
    const bank = { BANK_BASE_URL: 'https://bank.example' };
    const check = (environment: Readonly<Record<string, string>>) =>
      runCommand(['check', '--no-store'], { environment: { ...bank, ...environment } });
    const mixed = { BANK_TLS_CERT: cert, BANK_TLS_KEY: rsa.key, STATE_URL: 'memory:' };
    expect((await check(mixed)).errors).toBe(
      'BANK_TLS_CERT, BANK_TLS_KEY cannot be used: give a certificate and its own key, without a passphrase, in PEM (the key is not that of the certificate).\n',
    );
    const store = (key: string) => ({
      STATE_URL: `postgres://me@db.example/bankql?sslcert=${cert}&sslkey=${key}`,
    });
    expect((await check(store(rsa.key))).errors).toBe(
      'STATE_URL cannot be used: a file that it names cannot be used: the key is not that of the certificate.\n',
    );
    expect((await check(store(files.key ?? ''))).errors).toBe('');
  });

  test('may begin with a byte order mark or end their lines with CR LF; other charsets are refused', async () => {
    const written = async (name: string, content: string | Buffer) => {
      await writeFile(join(certificates.folder, name), content);
      return join(certificates.folder, name);
    };
    const [cert, key, ca] = await Promise.all(
      Object.entries({ cert: files.cert, key: files.key, ca: files.ca }).map(async ([name, file = '']) =>
        written(`marked-${name}`, `\uFEFF${(await readFile(file, 'utf8')).replaceAll('\n', '\r\n')}`),
      ),
    );
    const marked = await readBankTls({ cert, key, ca });
    expect(marked.expiries).toEqual((await readBankTls(files)).expiries);

    const pem = await readFile(files.ca ?? '', 'utf8');
    const authority = async (name: string, content: string | Buffer) =>
      readBankTls({ cert: undefined, key: undefined, ca: await written(name, content) });
    await authority('latin1.pem', Buffer.from(`Autorité\n${pem}`, 'latin1'));
    const wide = Buffer.from(pem, 'utf16le');
    for (const content of [wide, Buffer.from(wide).swap16()])
      await expect(authority('utf16.pem', content)).rejects.toThrow(
        /^BANK_TLS_CA=.*utf16\.pem cannot be used: it is in UTF-16 or DER/,
      );
    // In each of these texts, OpenSSL would trust only the first certificate, or none.
    for (const content of [pem.replaceAll(/^/gm, ' '), `${pem} ${pem}`, pem + pem.slice(0, 60)])
      await expect(authority('skipped.pem', content)).rejects.toThrow(/^BANK_TLS_CA cannot be used: /);
  });

  test('are read again when they change, and what was read stands while they do not fit each other', async () => {
    const watched = {
      cert: join(certificates.folder, 'watched.pem'),
      key: join(certificates.folder, 'watched.key'),
      ca: undefined,
    };
    await copyFile(files.cert ?? '', watched.cert);
    await copyFile(files.key ?? '', watched.key);
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
    let used = 0;
    const reload = async () => {
      await readBankTls(watched);
      used++;
    };
    const end = watchBankTls(watched, reload, logger, 20);
    const replace = async (file: string, by: string) => {
      await writeFile(file, await readFile(by));
      const later = new Date(Date.now() + 5000);
      await utimes(file, later, later);
    };
    await replace(watched.cert, other.cert);
    await expect.poll(() => lines).toContainEqual(expect.stringContaining('cannot be used yet'));
    expect(used).toBe(0);
    await replace(watched.key, other.key);
    await expect.poll(() => lines).toContainEqual(expect.stringContaining('and are used'));
    expect(used).toBeGreaterThan(0);
    // A renewal may change the type of the key.
    const rsa = await certificates.client('renewed', 'rsa');
    const before = used;
    lines.length = 0;
    await replace(watched.cert, rsa.cert);
    await expect.poll(() => lines).toContainEqual(expect.stringContaining('cannot be used yet'));
    expect(used).toBe(before);
    end();
  });
});
