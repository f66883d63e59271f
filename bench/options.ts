import { parseArgs } from 'node:util';
import { contenders } from './contenders.ts';
import { shapes } from './shapes.ts';

export type Options = ReturnType<typeof readOptions>;

const nameOf = ({ name }: { readonly name: string }) => name;

/** Errors: an unknown option. */
export function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const texts = { only: text, shapes: text, sections: text, before: text, profile: text } as const;
  const { values } = parseArgs({ args: [...args], options: { ...texts, quick: { type: 'boolean' } } });
  const names = (given: string | undefined, known: readonly string[]): Set<string> => {
    const chosen = given?.toLowerCase().split(',') ?? known;
    const unknown = chosen.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`there is no ${unknown}: ${known.join(', ')}`);
    return new Set(chosen);
  };
  const { quick = false, before = null, profile = null } = values;
  return {
    /** Another checkout of bankql. Only its processor time is compared. */
    before,
    /** The query whose CPU profile is written; nothing else is measured. */
    profile,
    /** The contenders to measure. The limit always takes part, because the others are compared with it. */
    only: names(values.only, contenders.map(nameOf)).add('limit'),
    shapes: names(values.shapes, shapes.map(nameOf)),
    sections: names(values.sections, ['a', 'b', 'c', 'd']),
    /** The length of one round, in seconds. */
    seconds: quick ? 0.5 : 0.9,
    rounds: quick ? 2 : 6,
    /** The time for which memory is measured, in seconds. */
    memorySeconds: quick ? 6 : 30,
    /** How many times the start is measured. */
    repeats: quick ? 2 : 3,
    /** Whether to write the results to docs/performance.md: only in a run that leaves nothing out. */
    write: args.length === 0,
  };
}
