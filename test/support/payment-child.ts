import { flushCompileCache } from 'node:module';
import { pino } from 'pino';
import { createBankClient } from '../../src/bank/client.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { serve } from '../../src/http/server.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { openStore } from '../../src/payments/store/open-store.ts';
import { bankDefaults } from './bankql.ts';
import { capacityLimits } from './capacity-limits.ts';
import type { ChildSettings, KillPoint } from './payment-process.ts';

/**
 * bankql, connected as in main.ts, with a lease that the test chooses. At a named point of its first payment, it kills itself
 * with SIGKILL. Its only argument is ChildSettings as JSON.
 */
const settings: ChildSettings = JSON.parse(process.argv[2] ?? '{}');
const { bankUrl, stateUrl, killAt, leaseMs = 10_000 } = settings;

/** SIGKILL cannot be caught: nothing after this line runs. */
async function reach(point: KillPoint): Promise<void> {
  if (point !== killAt) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
}

const client = createBankClient({
  ...bankDefaults,
  baseUrl: bankUrl,
});
const opened = await openStore(stateUrl, { timeoutMs: 60_000, retentionMs: 86_400_000 });
const payments = createPaymentService({
  bank: {
    ...client,
    async send(call, options) {
      const reply = await client.send(call, options);
      await reach('when the answer arrived');
      return reply;
    },
  },
  store: {
    ...opened,
    async begin(record, leaseMs) {
      await reach('before PENDING is stored');
      const earlier = await opened.begin(record, leaseMs);
      await reach('when PENDING is stored');
      return earlier;
    },
    async end(attempt) {
      const written = await opened.end(attempt);
      if (attempt.outcome !== null) await reach('when DONE is stored');
      return written;
    },
  },
  leaseMs,
});
const server = await serve({
  host: '127.0.0.1',
  port: 0,
  bank: client,
  payments,
  defaults: { bankId: 'BANK', viewId: 'owner' },
  limits: { timeoutMs: 120_000, restCalls: 1000 },
  answerLimits: { values: 100_000, bytes: 16 * 1024 * 1024 },
  documentCacheBytes: 64 * 1024 * 1024,
  documentLimits: { tokens: 2000, depth: 15, aliases: 30, rootFields: 50, directives: 20, fields: 500 },
  maxRequestBytes: 100_000,
  http: { corsOrigins: new Set(), onlyLocalNames: false },
  // No request is refused, because the tests are about what happens to payments.
  capacity: capacityLimits({ requests: 100_000, requestsPerCaller: 100_000 }),
  authenticate: authenticateByHeaders(null),
  introspection: false,
  logger: pino({ level: 'silent' }),
});
// Saves the compile cache, because a process that is killed would lose it.
flushCompileCache();
process.stdout.write(`${server.url}\n`);
