import type { Account } from '../contract/account.ts';
import type { TransactionRequest } from '../contract/transaction-request.ts';
import { type Database, openDatabase } from './database.ts';
import { authProvider, bankId, callers, sandboxHost, subscriptionKey } from './identity.ts';
import { closedAccount, slowAccount } from './payee.ts';
import { readScenario } from './scenario.ts';
import { seedOf } from './seed.ts';
import { lives } from './seed-data.ts';
import type { SandboxOptions } from './server.ts';

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Requests by their status, such as `2 COMPLETED`; the bank's own statements count apart. */
function countByStatus(requests: readonly TransactionRequest[]): string[] {
  const groups = Map.groupBy(requests, ({ resource_url, status }) =>
    resource_url?.includes('#statement-') ? 'statement' : status,
  );
  return [...groups].map(([status, { length }]) =>
    status === 'statement' ? counted(length, status) : `${length} ${status}`,
  );
}

function describeAccount(database: Database, account: Account): string {
  const { id, balance, type } = account;
  const accountId = id ?? '';
  const holds = [
    `${type?.join(' ') ?? ''} ${balance?.amount} ${balance?.currency}`.trim(),
    counted(database.otherAccounts.of(accountId).length, 'payee'),
    counted(database.transactions.of(accountId).length, 'transaction'),
  ];
  const requests = countByStatus(database.transactionRequests.of(accountId));
  return `  ${accountId.padEnd(16)}${holds.join(', ')}\n${requests.length === 0 ? '' : `  ${''.padEnd(16)}requests: ${requests.join(', ')}\n`}`;
}

function describeLogin(database: Database, id: string, name: string): string {
  const accounts = database.accounts.naming('owners', id);
  const life = lives[id];
  const messages = database.messages.of(id).length;
  return [
    `${id}: ${name}${life === undefined ? '' : `, ${life}`}; ${counted(messages, 'message')}\n`,
    ...accounts.map((account) => describeAccount(database, account)),
    '\n',
  ].join('');
}

const tries = [
  ['alice-current', 'payee-landlord', 'money leaves to another bank'],
  ['alice-current', closedAccount, 'FAILED: the account is closed; no money moves'],
  ['bob-current', slowAccount, 'PENDING: the other bank has not said yes'],
  ['alice-current', 'yuki-current', "the first thing that happens on the student's account"],
  ['omar-current', 'payee-electricity', 'refused with 400: insufficient funds'],
] as const;

/** Describes the customers of a new sandbox with these options, and what to try. Errors: as startSandbox. */
export function describeSandbox(options: Pick<SandboxOptions, 'port' | 'scenario' | 'now'>): string {
  const scenario = readScenario(options.scenario ?? 'standard');
  const database = openDatabase(':memory:', seedOf(scenario, options.now ?? Date.now()));
  const url = `http://${sandboxHost}:${options.port}`;
  const logins = [...callers, ...Object.keys(scenario.customers)];
  const customers = [...new Set(logins)].map((id) =>
    describeLogin(database, id, database.customers.get(id)?.legal_name ?? id),
  );
  database.close();
  return `The sandbox bank ${bankId}. Each of these logs in with the headers

  Ocp-Apim-Subscription-Key: ${subscriptionKey}
  Auth-Provider-Name: ${authProvider}
  Auth-ID: alice

${customers.join('')}Transfers to try, by makeTransaction or a request (above 1,000 it is INITIATED and stays so):

${tries.map(([from, to, what]) => `  ${from.padEnd(15)}-> ${to.padEnd(24)}${what}\n`).join('')}
While it runs:

  curl -X POST ${url}/sandbox/reset      everything as at the start
  curl -X PUT ${url}/sandbox/faults -d '{"scenario": "flaky"}'      a bad day; -X DELETE ends it

SANDBOX_SCENARIO=empty, or a JSON file, starts with other records; SANDBOX_NOW fixes the clock. More: docs/sandbox.md.
`;
}
