import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { progress } from '../test/long/progress.ts';
import { cpuOf } from './load/kernel.ts';
import { endAll, start, untilReady } from './load/process.ts';

/**
 * What a start costs: processor time, and the time until bankql says that it serves, over the embedded sandbox bank. The
 * first argument says how often each is started; `npm run build` adds the compiled package.
 */

process.on('exit', endAll);
const starts = Number(process.argv[2] ?? 10);
const root = join(import.meta.dirname, '..');
const folder = await mkdtemp(join(tmpdir(), 'bankql-start-'));
const programs = ['src/main.ts', 'dist/main.js'].filter((program) => existsSync(join(root, program)));

async function startOnce(program: string, environment: Readonly<Record<string, string>>) {
  const began = performance.now();
  await using running = start({
    command: [process.execPath, join(root, program)],
    environment: { SANDBOX: '1', PORT: '0', SANDBOX_PORT: '0', ...environment },
    folder,
    core: null,
  });
  await untilReady(running, async () => running.output().includes('bankql serves GraphQL'));
  const cost = { wallMs: performance.now() - began, cpuMs: cpuOf(running.pid) / 1000 };
  // Node writes its cache where the process ends by itself.
  process.kill(running.pid, 'SIGTERM');
  while (!running.hasEnded()) await delay(10);
  return cost;
}

const median = (values: readonly number[]) =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN);

process.stdout.write('| start of | compile cache | CPU ms | wall ms |\n| --- | --- | ---: | ---: |\n');
for (const program of programs) {
  for (const cache of ['none', 'warm']) {
    const environment: Record<string, string> =
      cache === 'none' ? { NODE_DISABLE_COMPILE_CACHE: '1' } : { NODE_COMPILE_CACHE: join(folder, 'cache') };
    await startOnce(program, environment);
    const costs = [];
    for (let index = 0; index < starts; index++) {
      progress(`${program}, ${cache} cache, start ${index + 1} of ${starts}`);
      costs.push(await startOnce(program, environment));
    }
    const row = [median(costs.map(({ cpuMs }) => cpuMs)), median(costs.map(({ wallMs }) => wallMs))];
    process.stdout.write(`| \`${program}\` | ${cache} | ${row.join(' | ')} |\n`);
  }
}
progress(null);
await rm(folder, { recursive: true, force: true });
