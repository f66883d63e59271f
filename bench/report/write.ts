import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Results } from '../sections/results.ts';
import { goalsTable } from './goals.ts';
import { medianOf } from './statistics.ts';
import { detailsOf, timeTable } from './tables.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/performance.md');
const readme = join(root, 'bench/README.md');
const [begin, end] = ['<!-- bench:begin -->', '<!-- bench:end -->'];

export interface Report {
  /** docs/performance.md. */
  readonly page: string;
  /** What it leaves out, for bench/README.md. */
  readonly details: string;
}

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The commit that is measured, as test/bench/page.test.ts reads it. */
function commitOf(): string {
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'bin') === '' ? '' : ', with changes';
    return `\`${git('rev-parse', '--short=12', 'HEAD')}\`${changed}`;
  } catch {
    return 'unknown (no git)';
  }
}

/** Shares above which a machine is busy with something else, or the load is what was measured. */
const busyShare = 0.03;
const busyLoad = 0.95;
const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Whether the figures are worth something: the load was fast enough, and nothing else ran. */
function circumstances({ isPinned }: Bench, { a, b }: Results): string {
  const rounds = [a, b].flatMap((section) => section ?? []).flatMap((each) => each.rounds);
  const load = Math.max(0, ...rounds.map(({ loadBusy }) => loadBusy));
  const others = rounds.map(({ othersBusy }) => othersBusy);
  const shares = `Other processes used ${percent(medianOf(others))} of the two cores (at most ${percent(Math.max(0, ...others))}), the load and the bank at most ${percent(load)} of theirs.`;
  if (!isPinned)
    return `> **Cores could not be chosen**: the load takes time from the contenders. These figures say little. ${shares}`;
  if (rounds.length === 0) return '';
  const isBusy = others.filter((share) => share > busyShare).length > others.length / 10;
  if (isBusy)
    return `> **The machine was busy.** ${shares} Requests per second say little, and ratios of processor time are rough.`;
  return load > busyLoad
    ? `> **The load was as slow as what it measured.** ${shares}`
    : `The machine was quiet. ${shares}`;
}

/** All of a run. */
export function reportOf(bench: Bench, results: Results, minutes: number): Report {
  const { rounds, seconds, text } = bench.options;
  const { a } = results;
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${gigabytes} GB`;
  const page = `# Performance

\`npm run bench${text === '' ? '' : ` -- ${text}`}\` wrote this page on ${new Date().toISOString().slice(0, 10)}, in ${minutes.toFixed(1)} minutes.
Commit: ${commitOf()}. ${rounds} rounds of ${seconds} s; Node ${process.versions.node} on ${platform()} ${arch()}, ${machine};
the contender on one core, the load and the bank on the other.

${circumstances(bench, results)}

- **The limit** is an endpoint written by hand for these queries: \`node:http\`, undici's \`Pool.dispatch\`, \`JSON.parse\`. It checks
  nothing, protects nothing and knows no GraphQL. Its time is spent on the calls and the JSON.
- **Q1**: one REST call, a list of 100 branches (46 KB), four fields of each.
- **Q2**: ten accounts by alias, each with its counterparties and owners: 23 REST calls.
- **Q3**: \`{ __typename }\`, no REST call.
- **Q4**: the README's query, seven REST calls in two rounds.

bankql runs with every protection on. Each figure is a ratio within a round: the median of the rounds, and its 95 % interval by
bootstrap. "Ahead" means that the whole interval says so. [bench/README.md](../bench/README.md) describes the contenders and the
method, and has all other figures.

## Processor time per request, the limit = 1

${a === undefined ? 'Not measured.' : timeTable(a)}

## Goals

${goalsTable(results)}
`;
  return { page, details: detailsOf(results) };
}

/** Writes docs/performance.md, and the other figures into bench/README.md. Errors: that page has lost its markers. */
export async function writeReport(report: Report): Promise<void> {
  const text = await readFile(readme, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${readme} has no ${begin} … ${end}`);
  await writeFile(page, report.page);
  await writeFile(readme, `${before}${begin}\n\n${report.details}\n\n${end}${after}`);
}
