/**
 * Sources without a test of their name, by the folder, and the test file that covers them, with the reason why it is that one.
 * A file that holds nothing but types, or that is generated, needs none. test/test-files.test.ts holds this against what is there.
 */
export interface Coverage {
  /** Under `src/`. */
  readonly folder: string;
  /** Files of the folder without their ending. */
  readonly files: readonly string[];
  /** Under `test/`. It reaches these files by its imports, or starts bankql as a process. */
  readonly coveredBy: string;
  readonly why: string;
}

const of = (folder: string, files: string, coveredBy: string, why: string): Coverage => ({
  folder,
  files: files.split(' '),
  coveredBy,
  why,
});

export const coveredElsewhere: readonly Coverage[] = [
  of('.', 'errors', 'guards.test.ts', 'a table, held against docs/errors.md'),
  of('.', 'version', 'index.test.ts', 'what the package exports'),
  of(
    'bank',
    'interpret-record',
    'schema/real-banks.test.ts',
    'each habit of a bank, from the wire to the field',
  ),
  of('bank', 'client', 'bank/wire-format.test.ts', 'what it sends is looked at on the wire'),
  of('bank/cache', 'public-cache', 'bank/cache/shared-reads.test.ts', 'one of the two caches of a read'),
  of(
    'bank/http',
    'cancellation',
    'bank/cache/in-flight-requests.test.ts',
    'requests that several wait for are cancelled',
  ),
  of('bank/http', 'connection', 'bank/http/connections.test.ts', 'over real sockets'),
  of(
    'bank/http',
    'dispatch-handler http-message transport',
    'bank/http/faults.test.ts',
    'over a bank that breaks its answers',
  ),
  of('commands', 'doctor persist', 'engine/persisted-command.test.ts', 'commands are started as processes'),
  of('commands', 'help payments sandbox schema serve', 'main.test.ts', 'commands are started as processes'),
  of('commands', 'fatal-error log-level reload', 'sighup.test.ts', 'signals and fatal errors of a process'),
  of(
    'commands',
    'store-summary',
    'commands/payments/operator-store.test.ts',
    'what an operator is told of a store',
  ),
  of(
    'commands/payments',
    'arguments confirm context list settle store payment-table',
    'commands/payments/operator-command.test.ts',
    'an operator’s commands are run whole, over a store',
  ),
  of('commands/payments', 'search', 'commands/payments/operator-search.test.ts', 'the same'),
  of(
    'commands/payments',
    'settle-from-log show-history',
    'commands/payments/operator-story.test.ts',
    'the same',
  ),
  of('commands', 'commands', 'commands/invocation.test.ts', 'a table, read by the words of the command line'),
  of('config', 'in-force', 'commands/config.test.ts', 'what the command prints'),
  of(
    'config',
    'formats start-error variable variables',
    'config/config.test.ts',
    'every variable with good and bad values',
  ),
  of(
    'config/variables',
    'bank callers exploring limits payments resilience sandbox server',
    'config/config.test.ts',
    'the same: they are one table',
  ),
  of(
    'contract',
    'account branch common-schemas customer message metadata operation operations other-account product transaction transaction-request',
    'contract/specification.test.ts',
    'held against the specification’s own tables and examples',
  ),
  of('contract', 'generate-validators', 'contract/validators.test.ts', 'by the validators that it makes'),
  of('doctor', 'checks contract-diff run-check', 'doctor/doctor.test.ts', 'the report is what counts'),
  of(
    'engine',
    'document-rules document-size',
    'engine/document-limits.test.ts',
    'documents at their limits, through the engine',
  ),
  of('engine', 'engine mask-error request-error', 'server/http.test.ts', 'what a client sees of each error'),
  of(
    'engine',
    'manifest-generator',
    'engine/persisted-command.test.ts',
    'by the manifest that the command writes',
  ),
  of('engine', 'node-id-limit', 'engine/call-limit.test.ts', 'beside the other limits of a request'),
  of('engine', 'persisted-documents persisted-manifest', 'engine/persisted.test.ts', 'requests by ids'),
  of(
    'executor',
    'attempt compile complete-list complete-value execute-fields execute-operation pending-value resolve-info',
    'executor/differential.test.ts',
    'the answers of graphql’s own executor are the test',
  ),
  of(
    'executor',
    'reference-executor',
    'executor/answer-budget.test.ts',
    'the same budget by either executor',
  ),
  of(
    'executor',
    'selection',
    'executor/executor.test.ts',
    'what resolvers see of a selection, by either executor',
  ),
  of(
    'schema',
    'annotate-transaction update-account update-branch update-customer update-field update-product',
    'schema/updates.test.ts',
    'each update, from the field to the wire',
  ),
  of(
    'payments',
    'failure-words stored-response',
    'payments/classify-response.test.ts',
    'what a bank’s answer means',
  ),
  of(
    'payments',
    'outcome-writer unwritten-outcome',
    'payments/unwritten-ends.test.ts',
    'ends that could not be written',
  ),
  of('payments', 'caller-hash record', 'payments/payment-record.test.ts', 'what a record holds'),
  of(
    'payments',
    'payment-errors replay service',
    'payments/at-most-once.test.ts',
    'payments against a bank and a store',
  ),
  of(
    'payments',
    'payment-history',
    'payments/history.test.ts',
    'histories of payments are checked as a whole',
  ),
  of(
    'payments',
    'payment-query payment-search',
    'schema/payment-list.test.ts',
    'through the fields that ask for them',
  ),
  of('payments', 'payment-refusals', 'server/refusal-metrics.test.ts', 'refusals are counted'),
  of('payments', 'store', 'payments/stores/memory-store.test.ts', 'the tests that every store passes'),
  of(
    'payments/stores',
    'stored-record',
    'payments/stores/redis/redis-store.test.ts',
    'records are written and read back',
  ),
  of(
    'payments/stores/redis',
    'begin keys recent-begins record-fields script scripts slots',
    'payments/stores/redis/redis-store.test.ts',
    'scripts run in a Redis, not without one',
  ),
  of(
    'payments/stores/redis',
    'command-timeouts connection reconnect replication server-check',
    'payments/stores/redis/redis-store-faults.test.ts',
    'a Redis that is slow, away or another one',
  ),
  of(
    'payments/stores/redis',
    'known-marks rollback store-metadata',
    'payments/stores/redis/redis-store-loss.test.ts',
    'a Redis that has lost records',
  ),
  of(
    'payments/stores/redis',
    'migration',
    'payments/stores/redis/redis-store-migration.test.ts',
    'older stores are opened',
  ),
  of(
    'payments/stores/redis',
    'search',
    'payments/stores/redis/redis-store-search.test.ts',
    'over a store with records',
  ),
  of(
    'payments/stores/redis',
    'address sentinel',
    'payments/stores/redis/redis-sentinel.test.ts',
    'a Redis behind Sentinels',
  ),
  of(
    'payments/stores/sqlite',
    'backup copy restore restore-plan',
    'payments/stores/sqlite/sqlite-backup.test.ts',
    'backups are restored',
  ),
  of(
    'payments/stores/sqlite',
    'clock statements',
    'payments/stores/sqlite/sqlite-clock.test.ts',
    'clocks that step',
  ),
  of(
    'payments/stores/sqlite',
    'mark-files',
    'payments/stores/sqlite/sqlite-loss.test.ts',
    'a file that has lost records',
  ),
  of(
    'payments/stores/sqlite',
    'schema',
    'payments/stores/sqlite/sqlite-schema.test.ts',
    'older files are opened',
  ),
  of(
    'payments/stores/sqlite',
    'database-file read-worker search store-calls worker worker-protocol worker-thread',
    'payments/stores/sqlite/sqlite-store.test.ts',
    'a store with its threads',
  ),
  of('sandbox', 'example', 'doctor/doctor.test.ts', 'the ids that the doctor is given'),
  of(
    'sandbox',
    'http-error identity request-url routes',
    'sandbox/server.test.ts',
    'what the sandbox answers over HTTP',
  ),
  of('sandbox', 'records', 'sandbox/database.test.ts', 'records are written and read back'),
  of(
    'sandbox/faults',
    'corrupt-body fault scenarios',
    'sandbox/faults/text.test.ts',
    'faults as texts say them',
  ),
  of(
    'sandbox/handlers',
    'account branch customer index message metadata other-account product transaction transaction-request',
    'sandbox/operations.test.ts',
    'each operation over HTTP, held against the contract',
  ),
  of(
    'sandbox/seed',
    'account branch customer message metadata other-account product transaction transaction-request',
    'sandbox/seed.test.ts',
    'the seed as a whole: its records name each other',
  ),
  of(
    'schema',
    'bank builder common-types schema print',
    'schema/public-contract.test.ts',
    'the schema as it is printed',
  ),
  of('schema', 'context', 'schema/bank-session.test.ts', 'what a request’s context gives resolvers'),
  of(
    'schema',
    'field-extensions',
    'schema/prefetch.test.ts',
    'what fields say of themselves, by what is called',
  ),
  of('schema', 'put-account write-field', 'schema/writes.test.ts', 'all writes side by side'),
  of('schema', 'transaction-details', 'schema/transaction.test.ts', 'a part of its type'),
  of('schema', 'view-ids', 'schema/refused-arguments.test.ts', 'ids that are none, at each field'),
  of(
    'schema/node-types',
    'account bank branch customer other-account product transaction',
    'schema/node.test.ts',
    'every type of node, by its global id',
  ),
  of('server', 'connection listen', 'server/unread.test.ts', 'connections whose clients do not read'),
  of('server', 'example-operations', 'server/graphiql.test.ts', 'GraphiQL’s tabs are run'),
  of('server', 'graphql-server', 'server/handlers.test.ts', 'the same requests by both handlers'),
  of('server', 'http-policy serialize-result', 'server/http.test.ts', 'over HTTP'),
  of('server', 'send-response server-response', 'server/failures.test.ts', 'answers that fail half-way'),
  of(
    'server/auth',
    'authenticate incoming-request',
    'server/auth/header-credentials.test.ts',
    'headers over HTTP',
  ),
  of('server/auth', 'jwt-options token-refusal', 'server/auth/jwt.test.ts', 'tokens over HTTP'),
  of(
    'server/rate-limit',
    'rate-limited-bank',
    'server/rate-limit/rate-limiter.test.ts',
    'limits as callers meet them',
  ),
  of(
    'telemetry',
    'rest-call-log store-event-log telemetry',
    'server/refusal-metrics.test.ts',
    'metrics and lines of a server that runs',
  ),
];
