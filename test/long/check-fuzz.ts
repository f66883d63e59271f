import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { fuzzedRequest } from '../support/fuzzed-request.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { counted, progress } from './progress.ts';

/** `node test/long/check-fuzz.ts [--runs 10000] [--seed N]`: random requests over a socket; none may be 5xx or INTERNAL. */

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const seed = Number(values.seed) | 0;
await using fixture = await startServerFixture();
fixture.bank.otherwise({ body: { branches: [], accounts: [], otherAccounts: [], messages: [] } });
const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort());
const statuses = new Map<number, number>();
const runs = Number(values.runs);
const started = performance.now();
let sent = 0;

const result = await fc.check(
  fc.asyncProperty(fuzzedRequest, async ({ body, headers }) => {
    progress(`request ${counted(++sent)} of ${counted(runs)}`);
    const answer = await fetch(fixture.url, { method: 'POST', headers, body });
    const text = await answer.text();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    return answer.status < 500 && !text.includes('INTERNAL');
  }),
  { seed, numRuns: runs },
);

progress(null);
const untouched = JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort()) === prototype;
const seconds = ((performance.now() - started) / 1000).toFixed(1);
process.stdout.write(
  `${result.numRuns} requests in ${seconds} s, seed ${seed}: statuses ${JSON.stringify(Object.fromEntries(statuses))}, ` +
    `Object.prototype ${untouched ? 'untouched' : 'CHANGED'}\n`,
);
if (result.failed) process.stdout.write(`failed: ${JSON.stringify(result.counterexample)}\n`);
process.exitCode = result.failed || !untouched ? 1 : 0;
