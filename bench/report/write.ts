import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Results } from '../sections/results.ts';
import { chartOf } from './chart.ts';
import { goalsTable } from './goals.ts';
import { tablesOf } from './tables.ts';

const docs = join(import.meta.dirname, '../../docs');
const page = join(docs, 'performance.md');
const chart = join(docs, 'performance.svg');
const [begin, end] = ['<!-- bench:begin -->', '<!-- bench:end -->'];

/** All of a run: how it was made, the goals, the tables. */
export function reportOf({ options, isPinned }: Bench, results: Results, minutes: number): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const lines = [
    `\`npm run bench${options.text === '' ? '' : ` -- ${options.text}`}\` on ${new Date().toISOString().slice(0, 10)}, in ${minutes.toFixed(1)} minutes:`,
    `${options.rounds} rounds of ${options.seconds} s; Node ${process.versions.node} on ${platform()} ${arch()},`,
    `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${gigabytes} GB;`,
    isPinned
      ? 'the contender alone on one core, the load and the bank on the other.'
      : 'cores could not be chosen, so that the load takes time from the contenders: no figure here means much.',
  ];
  return [lines.join('\n'), '### Goals', goalsTable(results), tablesOf(results)].join('\n\n');
}

/** Puts the report into docs/performance.md, and its chart beside it. Errors: the page has lost its markers. */
export async function writeReport(report: string, { a }: Results): Promise<void> {
  const text = await readFile(page, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${begin} … ${end}`);
  const image = a === undefined ? '' : '![Requests a second, the limit = 1](performance.svg)\n\n';
  await writeFile(page, `${before}${begin}\n\n${image}${report}\n\n${end}${after}`);
  if (a !== undefined) await writeFile(chart, chartOf(a));
}
