import { parseArgs } from 'node:util';
import { createBankqlYoga } from '../../src/server/yoga.ts';
import { createTestClient } from '../support/bank-client.ts';
import { testOptions } from '../support/bankql.ts';
import { documentOf } from '../support/many-documents.ts';
import { readNewPaths, startForgetfulBank } from '../support/many-paths.ts';
import { keptMegabytes } from '../support/memory.ts';
import { counted, progress } from './progress.ts';

/**
 * `node test/long/check-memory.ts [--paths N] [--documents N]`: a million paths, each of another caller, and a hundred
 * thousand documents, of which half cannot be run; none comes twice. Prints what is kept after each tenth. Exit code 1
 * where that still grows after the third, when every cache is full.
 */
const { values } = parseArgs({
  options: {
    paths: { type: 'string', default: '1000000' },
    documents: { type: 'string', default: '100000' },
  },
});
const paths = Number(values.paths);
const documents = Number(values.documents);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(paths >= 300_000) || !(documents >= 30_000)) {
  say('Give --paths of 300000 at least, and --documents of 30000: with fewer no cache is full.');
  process.exit(2);
}

/** How much more may be kept at the end than after the third tenth, in megabytes; a leak of 10 bytes a path is as much. */
const mostGrowth = 7;

async function check(what: string, count: number, make: (from: number, count: number) => Promise<void>) {
  say(`${count} ${what}`);
  const tenth = Math.floor(count / 10);
  const kept: number[] = [];
  for (let at = 0; at < 10; at++) {
    progress(`${what}: ${counted(at * tenth)} of ${counted(count)}`);
    await make(at * tenth, tenth);
    kept.push(await keptMegabytes());
    say(`  ${String((at + 1) * tenth).padStart(8)}: ${kept.at(-1)?.toFixed(1)} MB`);
  }
  const growth = (kept.at(-1) ?? 0) - (kept[2] ?? 0);
  const isFlat = growth <= mostGrowth;
  say(`  ${isFlat ? 'flat' : 'GROWS'}: ${growth.toFixed(1)} MB more at the end than after the third tenth`);
  return isFlat;
}

await using bank = await startForgetfulBank();
const client = createTestClient(bank.url, { publicCacheTtlMs: 3_600_000, connections: 64 });
const arePathsFlat = await check('paths', paths, (from, count) => readNewPaths(client, from, count));
await client.close();

const options = await testOptions({ bankUrl: bank.url });
const engine = createBankqlYoga({
  ...options,
  unexpected: (error) => {
    throw error;
  },
});
const areDocumentsFlat = await check('documents', documents, async (from, count) => {
  for (let number = from; number < from + count; number++) {
    const { text, isValid } = documentOf(number);
    const { errors } = await engine.execute(
      { query: text },
      { credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' } },
    );
    if ((errors === undefined) !== isValid) throw new Error(`document ${number} is answered otherwise`);
  }
});
await options.bank.close();
progress(null);
const isGood = arePathsFlat && areDocumentsFlat;
say(`verdict: ${isGood ? 'good' : 'failed'}`);
process.exitCode = isGood ? 0 : 1;
