import { existsSync } from 'node:fs';
import { type Config, readConfig } from '../config/config.ts';
import { settingsIn } from '../config/environment.ts';
import { plain } from '../config/help.ts';
import { StartError } from '../errors.ts';
import { limitRows } from '../load/limits.ts';
import { openStore } from '../payments/stores/open-store.ts';
import { clientOptions } from '../payments/stores/postgres/address.ts';
import { parseStoreUrl } from '../payments/stores/store-address.ts';
import { schema } from '../schema/schema.ts';
import { daysLeft, readBankTls } from './bank-tls.ts';
import type { CliContext } from './command.ts';

/** `bankql config check`. Returns the exit code. Errors: StartError with every value that cannot be used. */
export async function checkConfig({ environment, sources, args, write }: CliContext): Promise<number> {
  if (args.join(' ') !== 'check') throw new StartError('bankql config knows only: bankql config check.');
  const config = readConfig(environment);
  const expiries = await checkFiles(config);
  const settings = settingsIn(environment, sources).map((line) => `  ${line}\n`);
  const rows = limitRows();
  const width = Math.max(...rows.map(({ value }) => value.length));
  const fixed = rows.map(({ value, meaning }) => `  ${value.padStart(width)}  ${plain(meaning)}\n`);
  write(
    [
      'Settings; the others have their defaults:\n',
      ...settings,
      'Fixed limits:\n',
      ...fixed,
      ...expiries,
      ...adviceFor(config),
      'The configuration can be used.\n',
    ].join(''),
  );
  return 0;
}

/** Settings that can be used, and are weaker than others. */
const adviceFor = ({ paymentWords: { receiptPath, statusPath } }: Config): string[] =>
  receiptPath !== undefined && statusPath === undefined
    ? [
        'BANK_PAYMENT_RECEIPT without BANK_PAYMENT_STATUS: an id alone makes a payment DONE. Name the place of its status too, if the answer has one.\n',
      ]
    : [];

/**
 * Reads the same files as a start. Also finds problems that otherwise only calls of the bank would show.
 * Shape: a line for each file with certificates, which says when the first one expires. Errors: StartError.
 */
async function checkFiles(config: Config): Promise<string[]> {
  const problems: string[] = [];
  const lines: string[] = [];
  const collect = ({ message }: Error) => void problems.push(message);
  const { bankTls } = config;
  const tls = bankTls === null ? null : await readBankTls(bankTls).catch(collect);
  for (const [variable, expiry] of tls?.expiries ?? []) {
    const days = Math.floor(daysLeft(expiry, Date.now()));
    const date = new Date(expiry).toISOString();
    if (days < 0) problems.push(`${variable} cannot be used: its certificate expired on ${date}.`);
    lines.push(`The certificate in ${variable} expires on ${date}, in ${days} days.\n`);
  }
  const { url, create } = config.state;
  const store = parseStoreUrl(url);
  // A PostgreSQL server may be away now and available at the start.
  if (store.kind === 'postgres')
    await clientOptions(store.address).catch(({ message }: Error) => {
      problems.push(`STATE_URL cannot be used: a file of it cannot be used: ${message}.`);
    });
  if (store.kind === 'sqlite' && (!create || existsSync(store.path)))
    await openStore(url, { ...config.state, readOnly: true }).then((opened) => opened.close(), collect);
  const { readPersisted } = await import('./serve.ts');
  if (config.persisted !== null) await readPersisted(config, schema).catch(collect);
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return lines;
}
