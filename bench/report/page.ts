import { execFileSync } from 'node:child_process';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Results } from '../main.ts';
import type { Measured } from '../sections/interleave.ts';
import { titleOf } from '../shapes.ts';
import { medianOf, number, ratioOf, ratioSpread, type Spread, standing, table } from './statistics.ts';

/** Writes docs/performance.md: two tables, and the goals. */

/**
 * The table of processor times, divided by those of the contender `limit`: a row for each contender, a column
 * for each shape.
 */
function ratios(measured: readonly Measured[]): string {
  const shapes = [...new Set(measured.map(({ shape }) => shape))];
  const rows = Array.from(
    Map.groupBy(measured, ({ contender }) => contender.title),
    ([title, own]) => [
      title,
      ...own.map(
        ({ contender: { name }, shape, failure }) =>
          failure ?? ratioSpread(ratioOf(measured, name, 'limit', shape.name, shape.size)),
      ),
    ],
  );
  return table(['', ...shapes.map(titleOf)], rows);
}

type Goal = readonly [goal: string, needed: string, measured: string, verdict: string];

function atMost(what: string, need: number, measured: number | Spread | null | undefined, unit = ''): Goal {
  const [value, text] =
    typeof measured === 'number'
      ? [measured, number(measured) + unit]
      : [measured?.median, ratioSpread(measured ?? null)];
  const verdict = value === undefined ? 'not measured' : value <= need ? 'met' : '**open**';
  return [what, `at most ${number(need)}${unit}`, text, verdict];
}

function goals({ a, b, c, d }: Results): Goal[] {
  const toLimit = [
    ['Q1', 1.25, a, 'q1'],
    ['Q2', 1.4, a, 'q2'],
    ['Q3', 2.2, a, 'q3'],
    ['Q4', 1.3, a, 'q4'],
    ['5,000 branches', 1.35, b, 'q1', 5000],
    ['100 accounts', 1.9, b, 'q2', 100],
  ] as const;
  const toMercurius = (shape: string): Goal => {
    const spread = ratioOf(a, 'bankql', 'mercurius', shape);
    const is = spread && standing(spread);
    return [
      `${shape.toUpperCase()}, processor time divided by that of mercurius + JIT`,
      'level or ahead',
      is === null ? '–' : `${is}: ${ratioSpread(spread)}`,
      is === null ? 'not measured' : is === 'behind' ? '**open**' : 'met',
    ];
  };
  return [
    ...toLimit.map(([what, need, measured, shape, size]) => {
      const spread = ratioOf(measured, 'bankql', 'limit', shape, size);
      return atMost(`${what}, processor time divided by that of the limit`, need, spread);
    }),
    ...['q1', 'q2', 'q4'].map(toMercurius),
    atMost('memory under the load of Q2', 300, c?.mostMb, ' MB'),
    atMost('p99 divided by p50, Q2, 64 connections', 1.5, c && c.p99Ms / c.p50Ms),
    atMost('memory of 10,000 idle connections', 150, c?.idleMb, ' MB'),
    atMost("start to first answer, without Node's compile cache", 1500, d && medianOf(d.first), ' ms'),
  ];
}

const root = join(import.meta.dirname, '../..');
const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The measured commit, as test/bench/comparison.test.ts reads it. */
function commitOf(): string {
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'bin') === '' ? '' : ', with changes';
    return `\`${git('rev-parse', '--short=12', 'HEAD')}\`${changed}`;
  } catch {
    return 'unknown (no git)';
  }
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** The sentences that say whether the figures are reliable: the load was fast enough, and no other process ran. */
function circumstances({ isPinned }: Bench, { a = [], b = [] }: Results): string {
  const rounds = [...a, ...b].flatMap((each) => each.rounds);
  const others = medianOf(rounds.map(({ othersBusy }) => othersBusy));
  const load = Math.max(0, ...rounds.map(({ loadBusy }) => loadBusy));
  const isQuiet = isPinned && others < 0.03 && load < 0.95;
  const shares = `Other processes used ${percent(others)} of the two cores. The load and the bank used at most ${percent(load)} of their core.`;
  if (rounds.length === 0) return '';
  return isQuiet ? `The machine was quiet. ${shares}` : `> **These figures are rough.** ${shares}`;
}

export function pageOf(bench: Bench, results: Results, minutes: number): string {
  const { rounds, seconds } = bench.options;
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${gigabytes} GB`;
  return `# Performance

\`npm run bench\` wrote this page on ${new Date().toISOString().slice(0, 10)}, in ${minutes.toFixed(1)} minutes.
Commit: ${commitOf()}. ${rounds} rounds of ${seconds} s; Node ${process.versions.node} on ${platform()} ${arch()}, ${machine};
the contender on one core, the load and the bank on the other.

${circumstances(bench, results)}

- **The limit** is an endpoint written by hand for these queries: \`node:http\`, undici's \`Pool.dispatch\`, \`JSON.parse\`. It checks
  nothing, protects nothing and has no GraphQL: only the calls and the JSON take time.
- **Q1**: one REST call, a list of 100 branches (46 KB), four fields of each.
- **Q2**: ten accounts by alias, each with its counterparties and owners: 23 REST calls.
- **Q3**: \`{ __typename }\`, no REST call.
- **Q4**: the README's query, seven REST calls in two rounds.

bankql runs with every protection on. Each figure is the median of the ratios within each round, with the least and the
greatest. "Ahead" and "behind" mean that every round agrees. [bench/README.md](../bench/README.md) describes the contenders and the method.

## Processor time per request, the limit = 1

${results.a === undefined ? 'Not measured.' : ratios(results.a)}

## How it grows

${results.b === undefined ? 'Not measured.' : ratios(results.b)}

## Goals

${table(['goal', 'needed', 'measured', ''], goals(results))}
`;
}
