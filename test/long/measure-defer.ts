import { createEngine, type EngineResult, isIncrementalResult } from '../../src/engine/engine.ts';
import { testOptions } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

/**
 * `node test/long/measure-defer.ts`: what lists in lists cost whole, and with @defer and @stream, in processor time of the main
 * thread: all of it, and the most in one iteration of the event loop.
 */
await using bank = await startRecordingBank();
const branches = Array.from({ length: 26 }, (_, n) => ({
  id: `b${n}`,
  name: `B${n}`,
  acceptsDeposits: true,
}));
bank.otherwise({ body: { branches } });
const options = await testOptions({ bankUrl: bank.url });
const engine = createEngine({
  ...options,
  unexpected: (error) => {
    throw error;
  },
});
const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };
const rounds = 5;

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Looks at each iteration of the event loop. */
function watchIterations() {
  let longest = 0;
  let last = cpuMs();
  let isOver = false;
  const look = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isOver = true;
    return longest;
  };
}

async function read(result: EngineResult): Promise<{ results: number; bytes: number; errors: number }> {
  if (!isIncrementalResult(result))
    return { results: 1, bytes: JSON.stringify(result).length, errors: result.errors?.length ?? 0 };
  const sum = { results: 0, bytes: 0, errors: 0 };
  for await (const { json, errors } of result.payloads()) {
    sum.results++;
    sum.bytes += json.length;
    sum.errors += errors.length;
  }
  return sum;
}

async function measure(what: string, query: string, isIncremental: boolean): Promise<void> {
  const costs: number[] = [];
  let longest = 0;
  let told = { results: 0, bytes: 0, errors: 0 };
  for (let round = 0; round < rounds; round++) {
    const ended = watchIterations();
    const before = cpuMs();
    const execute = isIncremental ? engine.executeIncrementally : engine.execute;
    told = await read(await execute({ query }, { credentials }));
    costs.push(cpuMs() - before);
    longest = Math.max(longest, ended());
  }
  const median = costs.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
  const { results, bytes, errors } = told;
  process.stdout.write(
    `${what.padEnd(34)} ${median.toFixed(0).padStart(5)} ms, longest iteration ${longest.toFixed(0).padStart(3)} ms; ` +
      `${results} results, ${bytes} bytes, ${errors} errors\n`,
  );
}

const nested = (levels: number, leaf = 'name branchId'): string =>
  levels === 0 ? leaf : `bank { branches { nodes { ${nested(levels - 1, leaf)} } } }`;

for (const levels of [2, 3]) {
  const depth = `${levels} deep`;
  await measure(`whole, ${depth}`, `{ ${nested(levels)} }`, false);
  await measure(`one part deferred, ${depth}`, `{ ... @defer { __typename } ${nested(levels)} }`, true);
  await measure(`all deferred, ${depth}`, `{ ... @defer { ${nested(levels)} } }`, true);
  await measure(
    `each entry's deferred, ${depth}`,
    `{ ${nested(levels - 1, `... @defer { ${nested(1)} }`)} }`,
    true,
  );
  await measure(`streamed, ${depth}`, `{ ${nested(levels).replaceAll('nodes', 'nodes @stream')} }`, true);
}
await options.bank.close();
