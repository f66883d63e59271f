import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { account } from '../contract/account.ts';
import { branch } from '../contract/branch.ts';
import { customer } from '../contract/customer.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { message } from '../contract/message.ts';
import { metadataEntry } from '../contract/metadata.ts';
import { otherAccount } from '../contract/other-account.ts';
import { product } from '../contract/product.ts';
import { transaction } from '../contract/transaction.ts';
import { transactionRequest } from '../contract/transaction-request.ts';

const byId = <T extends z.ZodType>(record: T) => z.record(z.string().min(1), record).default({});
const listById = <T extends z.ZodType>(record: T) => byId(z.array(record));

/** The initial data of the bank: a base, and records that are added to it or replace those with the same ids. */
const scenario = z.strictObject({
  /** `standard`: five lives. `empty`: the same five, whose accounts hold nothing yet. */
  base: z.enum(['standard', 'empty']).default('standard'),
  /** See faults/text.ts. */
  faults: z.string().optional(),
  customers: byId(customer.answer.strict()),
  accounts: byId(account.answer.strict()),
  branches: byId(branch.answer.strict()),
  products: byId(product.body.partial()),
  /** By account id. */
  otherAccounts: listById(otherAccount.answer.strict()),
  /** By account id. */
  transactions: listById(transaction.answer.strict()),
  /** By account id. */
  transactionRequests: listById(transactionRequest.answer.strict()),
  /** By customer id. */
  messages: listById(message.answer.strict()),
  metadata: listById(metadataEntry.answer.strict()),
});
export type Scenario = z.infer<typeof scenario>;

/** Scenarios that have a name, as a file would write them. */
const named: Readonly<Record<string, z.input<typeof scenario>>> = {
  standard: {},
  empty: { base: 'empty' },
  'bad-day': { faults: 'flaky' },
};

/** A scenario that cannot be used; the message says what to do. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

/**
 * The scenario of this name, or that of a JSON file.
 * Errors: ScenarioError if there is neither, or the file's content is invalid.
 */
export function readScenario(nameOrFile: string): Scenario {
  if (Object.hasOwn(named, nameOrFile)) return scenario.parse(named[nameOrFile]);
  const checked = scenario.safeParse(readJson(nameOrFile));
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new ScenarioError(`${[...(issue?.path ?? []), issue?.message].join(': ')}.`);
}

function readJson(file: string): unknown {
  const names = Object.keys(named).join(', ');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ScenarioError(`give ${names}, or the path of a JSON file that can be read.`, { cause });
  }
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw new ScenarioError('the file is not JSON.', { cause });
  }
}
