import { existsSync } from 'node:fs';
import { describeState } from '../app/announcements.ts';
import { daysLeft, readBankTls } from '../app/bank-tls.ts';
import { type Config, readConfig } from '../config/config.ts';
import { settingsIn } from '../config/environment.ts';
import { plain } from '../config/help.ts';
import { StartError } from '../errors.ts';
import { limitRows } from '../load/fixed-limits.ts';
import { openStore } from '../payments/store/open-store.ts';
import { clientOptions } from '../payments/store/postgres/address.ts';
import { parseStoreUrl } from '../payments/store/store-address.ts';
import { schema } from '../schema/schema.ts';
import type { CliContext, Given } from './command.ts';
import type { checkOptions } from './commands.ts';

/**
 * `bankql check`. Returns the exit code.
 * Errors: StartError with every invalid value.
 */
export async function check(
  { environment, sources, write }: CliContext,
  { values }: Given<typeof checkOptions>,
): Promise<number> {
  const config = readConfig(environment);
  const facts = await examine(config, values['no-store'] === true);
  const settings = settingsIn(environment, sources).map((line) => `  ${line}\n`);
  write(
    [
      'Settings; the others have their defaults:\n',
      ...settings,
      ...(values.limits === true ? ['Fixed limits:\n', ...fixedLimits()] : []),
      ...facts,
      ...adviceFor(config),
      'The configuration can be used.\n',
    ].join(''),
  );
  return 0;
}

function fixedLimits(): string[] {
  const rows = limitRows();
  const width = Math.max(...rows.map(({ value }) => value.length));
  return rows.map(({ value, meaning }) => `  ${value.padStart(width)}  ${plain(meaning)}\n`);
}

/** Advice about settings that are valid but insecure or risky. */
const adviceFor = ({ paymentWords: { receiptPath, statusPath }, identity }: Config): string[] => [
  ...(receiptPath !== undefined && statusPath === undefined
    ? [
        'BANK_PAYMENT_RECEIPT without BANK_PAYMENT_STATUS: an id alone makes a payment DONE. Name the place of its status too, if the answer has one.\n',
      ]
    : []),
  ...(identity?.paymentScope === null
    ? [
        'IDENTITY=jwt without IDENTITY_PAYMENT_SCOPE: each token that can read can also pay. Name the word of the scope that payments need.\n',
      ]
    : []),
];

/**
 * Reads the same files as a start, and opens the payment store unless `withoutStore`. It also finds problems that would
 * otherwise appear only with calls of the bank.
 * Shape: lines: the expiry of the certificates in each file, and the line about the payment store.
 * Errors: StartError.
 */
async function examine(config: Config, withoutStore: boolean): Promise<string[]> {
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
  const checked = withoutStore ? checkAddress(config.state) : checkStore(config.state);
  const stateLine = await checked.catch(collect);
  if (stateLine) lines.push(`${stateLine}\n`);
  const { readPersisted } = await import('../app/app.ts');
  const persisted = await readPersisted(config, schema).catch(collect);
  if (persisted) lines.push(`Manifests of persisted documents: ${persisted.documents.apps.join(', ')}.\n`);
  const { readTools } = await import('../app/agents.ts');
  const tools = await readTools(config, schema).catch(collect);
  if (tools) lines.push(`Tools for agents: ${[...tools.byName.keys()].join(', ')}.\n`);
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return lines;
}

/**
 * Reads the files that the address of a payment store names.
 * Errors: an Error that names the file that cannot be read.
 */
async function checkAddress({ url }: Config['state']): Promise<void> {
  const store = parseStoreUrl(url);
  if (store.kind !== 'postgres') return;
  await clientOptions(store.address).catch(({ message }: Error) => {
    throw new StartError(`STATE_URL cannot be used: a file that it names cannot be used: ${message}.`);
  });
}

/**
 * Opens the payment store as a start does, without writing.
 * Shape: the line that the start would log about the store; null for a store in memory, and for one that the start would
 * create.
 * Errors: those of the start.
 */
async function checkStore({ url, ...options }: Config['state']): Promise<string | null> {
  const address = parseStoreUrl(url);
  const isMade = address.kind === 'sqlite' && options.create && !existsSync(address.path);
  if (address.kind === 'memory' || isMade) return null;
  const store = await openStore(url, { ...options, create: false, readOnly: true, mustBeWritable: true });
  try {
    return describeState(await store.count(), store.loss, Date.now());
  } finally {
    await store.close();
  }
}
