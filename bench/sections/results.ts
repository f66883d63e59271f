import type { Bench } from '../bench.ts';
import type { SectionName } from '../options.ts';
import { measureGrowth, measurePeers } from './comparison.ts';
import { reasonOf } from './interleave.ts';
import { measureMemory } from './memory.ts';
import { measureStart } from './start.ts';

const sections = {
  a: { title: 'A. Four queries', measure: measurePeers },
  b: { title: 'B. Growth of the cost', measure: measureGrowth },
  c: { title: 'C. Memory', measure: measureMemory },
  d: { title: 'D. Start', measure: measureStart },
} as const satisfies Record<SectionName, { title: string; measure: (bench: Bench) => Promise<unknown> }>;

/** What each section measured; undefined where it was left out, or failed. */
export type Results = {
  readonly [Name in SectionName]?: Awaited<ReturnType<(typeof sections)[Name]['measure']>>;
};

/** Runs the sections that are asked for, one after the other. */
export async function measureAll(bench: Bench): Promise<Results> {
  const { options, say } = bench;
  // All but A are about bankql.
  const isAsked = (name: SectionName) =>
    options.sections.has(name) && (name === 'a' || options.only === null || options.only.has('bankql'));
  const run = async <Name extends SectionName>(name: Name): Promise<Results[Name]> => {
    if (!isAsked(name)) return undefined;
    say(sections[name].title);
    try {
      return (await sections[name].measure(bench)) as Results[Name];
    } catch (error) {
      say(`  ${sections[name].title} failed: ${reasonOf(error)}`);
      // The others are worth having all the same.
      process.exitCode = 1;
      return undefined;
    }
  };
  return { a: await run('a'), b: await run('b'), c: await run('c'), d: await run('d') };
}
