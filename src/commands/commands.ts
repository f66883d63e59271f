import cluster from 'node:cluster';
import { readConfig } from '../config/config.ts';
import { doctorOptions } from '../doctor/doctor-options.ts';
import { sandboxHost } from '../sandbox/identity.ts';
import { type CliCommand, type CliOptions, usualLimit } from './command.ts';

/** Infers the type of the options for `run`. */
const command = <const O extends CliOptions>(row: CliCommand<O>): CliCommand<O> => row;

const json = { meaning: 'whole records, as JSON' };
const yes = { meaning: 'do not ask' };

/** The options of a search for payments, shared by every command that searches. */
export const searchOptions = {
  state: {
    value: 'STATES',
    multiple: true,
    meaning: 'unknown, pending, done or rejected; several with commas',
  },
  id: { value: 'ID', meaning: "the payment's own id, as the log names it, or at least its first six digits" },
  key: { value: 'KEY', meaning: "the client's idempotency key; needs --caller" },
  caller: {
    value: 'WHO',
    meaning: `Auth-Provider-Name/Auth-ID, split at the last slash; or '["provider","id"]'`,
  },
  account: { value: 'ID', meaning: 'the account that pays or is paid' },
  'track-id': { value: 'ID', meaning: 'the Track-ID under which the bank knows the request' },
  'request-id': {
    value: 'ID',
    meaning: 'the X-Request-Id of the HTTP request that sent it, as the log has it',
  },
  'bank-text': { value: 'TEXT', meaning: "the bank's text, whole, as show prints it" },
  since: {
    value: 'TIME',
    meaning:
      'begun at this time or later: 90s, 15m, 2h, 3d (ago), 2026-01-15, 2026-01-15T10:32Z (UTC if no zone is named)',
  },
  until: { value: 'TIME', meaning: 'begun at this time or earlier' },
  limit: { value: 'N', meaning: `how many at most (default: ${usualLimit})` },
} as const satisfies CliOptions;

export const listOptions = { ...searchOptions, json } as const satisfies CliOptions;

export const settleOptions = {
  ...searchOptions,
  as: { value: 'STATE', meaning: 'done (the bank executed it), or rejected (it did not, and will not)' },
  by: { value: 'NAME', meaning: 'who says so' },
  reason: { value: 'TEXT', meaning: 'how it is known' },
  yes,
} as const satisfies CliOptions;

export const acceptLossOptions = {
  'from-log': {
    value: 'FILE',
    meaning: 'a log of bankql, in lines of JSON; other lines are ignored',
  },
  by: { value: 'NAME', meaning: 'who decided it' },
  reason: { value: 'TEXT', meaning: 'why it is right' },
  yes,
} as const satisfies CliOptions;

export const sandboxOptions = {
  port: { value: 'NUMBER', meaning: 'its port (SANDBOX_PORT, or 4010); 0 for any free port' },
  now: {
    value: 'TIME',
    meaning: 'a fixed time, such as 2026-01-31T09:00Z, to which the dates of its records are relative',
  },
} as const satisfies CliOptions;

export const checkOptions = {
  limits: { meaning: 'prints the fixed limits too, as they are on this machine' },
  'no-store': { meaning: 'leaves the payment store out, where it cannot be reached' },
} as const satisfies CliOptions;

/** The commands by name, in the order of `bankql help`. Each command loads its modules when it runs. */
export const commands = {
  serve: command({
    isService: true,
    summary: 'serves GraphQL over the bank of BANK_BASE_URL, or over the embedded sandbox bank; the default',
    about: `Serves GraphQL at http://HOST:PORT/graphql until it gets SIGTERM or SIGINT. Without BANK_BASE_URL it starts the sandbox
bank too. Environment variables configure it: \`bankql help settings\` lists them. SIGHUP reloads what can change while it runs;
with WORKERS, SIGUSR2 replaces the workers.`,
    options: {},
    examples: [
      'PORT=5000 bankql',
      'BANK_BASE_URL=https://bank.example BANK_ID=THEBANK1 STATE_URL=sqlite:state.db bankql',
    ],
    async run(context) {
      if (cluster.isWorker) return (await import('../app/workers/worker.ts')).serveAsWorker(context);
      const config = readConfig(context.environment);
      if (config.workers > 1)
        return (await import('../app/workers/primary.ts')).serveFromWorkers(context, config);
      return (await import('../app/app.ts')).serveBankql(context);
    },
  }),
  check: command({
    summary: 'checks the settings and the payment store without serving, and prints what is set',
    about: `Names every value that cannot be used, and exits with 1 if it finds one. Else prints each variable that is set, with its value
(secrets are masked) and its source, when the bank's certificates expire, and what the payment store holds. The store is opened
as for a start, but nothing is written.`,
    options: checkOptions,
    examples: ['bankql check --env-file production.env'],
    run: async (context, given) => (await import('./check.ts')).check(context, given),
  }),
  doctor: command({
    summary: "compares a bank's answers with the contract",
    about: `Calls every read operation of the bank, and compares the answers with the contract. Exit codes: 0 if every answer conforms, 1 if
one does not, 2 if no call could be made.`,
    options: doctorOptions,
    examples: ['bankql doctor --env-file production.env --account a-1'],
    failureCode: 2,
    run: async (context, given) => (await import('./doctor.ts')).checkBank(context, given),
  }),
  'payments init': command({
    summary: 'makes the payment store that STATE_URL names',
    about: `Makes a SQLite file and its folder, or the tables in PostgreSQL. An existing store stays as it is. Run it once, by hand, for a
new store. In a new store all idempotency keys are free: where payments were recorded before, put the backup back, or mount the
volume that holds them.`,
    options: {},
    examples: ['STATE_URL=sqlite:/var/lib/bankql/state.db bankql payments init'],
    run: async (context) => (await import('./payments/init.ts')).init(context),
  }),
  'payments list': command({
    summary: 'payments, newest first: all, or by state, key, caller, account, Track-ID, request id, time',
    about: `Prints payments as a table, newest first: without options, those in any state. Writes nothing, neither in the store nor next to it.`,
    options: listOptions,
    examples: [
      'bankql payments list --state unknown,pending --since 3d',
      'bankql payments list --request-id 3f2b6c1e-9a41-4c1c-8f0e-1d6f0a2b7c55',
      'bankql payments list --caller https://login.example//alice --key 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    ],
    run: async (context, given) => (await import('./payments/list.ts')).list(context, given),
  }),
  'payments show': command({
    summary: 'one payment with its history',
    words: 'ID',
    about: `Prints every change of a payment's state: when, by which process, for which request, and what the bank said. The first six digits of
an id are enough. Writes nothing, neither in the store nor next to it.`,
    options: { json },
    examples: ['bankql payments show 4f8c21d09b7e'],
    run: async (context, given) => (await import('./payments/list.ts')).show(context, given),
  }),
  'payments settle': command({
    summary: 'records what the bank did with payments of unknown outcome',
    words: '[ID]',
    needs: '--as done|rejected --by NAME --reason TEXT',
    about: `Records what the bank did. This changes nothing at the bank and cannot be undone. Settles one payment, named by its id or by the
first six digits of it, or all payments that a search finds. Shows them and asks before it writes; scripts answer with --yes. For each
payment it prints a line of the audit log to standard output.`,
    options: settleOptions,
    examples: [
      `bankql payments settle 4f8c21d09b7e --as done --by "Ada" --reason "booked, says the bank's ledger"`,
      'bankql payments settle --account alice-current --since 3h --as rejected --by "Ada" --reason "incident 4711"',
      'bankql payments settle --bank-text "Saldo insuficiente" --as rejected --by "Ada" --reason "nothing is executed then, says the bank"',
    ],
    run: async (context, given) => (await import('./payments/settle.ts')).settle(context, given),
  }),
  'payments explain': command({
    summary: 'says what an answer of the bank means for a payment and its key',
    words: "'STATUS BODY'",
    about: `Says how bankql reads an answer to a payment with these settings. Sends nothing. Exits with 1 if the payment would be UNKNOWN.`,
    options: {},
    examples: [`bankql payments explain '200 {"data":{"id":"T"}}'`],
    run: async (context, given) => (await import('./payments/explain.ts')).explain(context, given),
  }),
  'payments backup': command({
    summary: 'copies a SQLite store while bankql serves',
    words: 'FILE',
    about: `Copies a SQLite store to FILE, and checks the copy. Does not replace an existing file. A plain copy of the store's file misses
what is in its write-ahead log.`,
    options: {},
    examples: ['bankql payments backup /var/backups/bankql-2026-01-15.db'],
    run: async (context, given) => (await import('./payments/backup.ts')).backup(context, given),
  }),
  'payments accept-loss': command({
    summary:
      'lets payments continue after records were lost; with a log, first records the lost payments as UNKNOWN',
    needs: '--by NAME --reason TEXT',
    about: `Lets payments continue in a store that lost records. If a client then repeats a lost payment, it is paid again. To prevent that,
--from-log first records each payment that is only in the log, even in a new store. It is recorded as UNKNOWN, even if it is DONE or
REJECTED in the log: settle it afterwards. Give the logs of all processes, in one file.`,
    options: acceptLossOptions,
    examples: [
      `bankql payments accept-loss --from-log /var/log/bankql.log --by "Ada" --reason "disk lost, backup of 3 o'clock restored"`,
    ],
    run: async (context, given) => (await import('./payments/accept-loss.ts')).acceptLoss(context, given),
  }),
  schema: command({
    summary: 'prints the GraphQL schema',
    about: "Prints the schema in GraphQL's schema definition language.",
    options: {},
    examples: ['bankql schema > schema.graphql'],
    async run({ write }) {
      write((await import('../schema/schema.ts')).printedSchema());
      return 0;
    },
  }),
  sandbox: command({
    isService: true,
    summary: 'serves only the sandbox bank',
    about: `Serves the sandbox bank's REST interface at http://${sandboxHost}:4010 until it gets SIGTERM or SIGINT.`,
    options: sandboxOptions,
    examples: ['bankql sandbox --port 8080 --now 2026-01-31T09:00Z'],
    run: async (context, given) => (await import('./sandbox.ts')).runSandbox(context, given),
  }),
} as const;

/** Commands and an option of version 0.4, with what to do instead. */
export const formerCommands = {
  'doctor --payment-answer': "`bankql doctor --payment-answer` is `bankql payments explain '200 {…}'` now.",
  config: '`bankql config check` is `bankql check` now.',
  'payments find': '`bankql payments find` is `bankql payments list` now.',
  explain:
    '`bankql explain` was removed: a query with the header `x-bankql-explain: calls` lists its REST calls, in the sandbox too.',
};
