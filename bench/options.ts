import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { contenders } from './contenders.ts';
import { shapes as allShapes } from './shapes.ts';

/** What is measured: see README.md. */
export const sectionNames = ['a', 'b', 'c', 'd'] as const;
export type SectionName = (typeof sectionNames)[number];

export interface Options {
  /** Names of contenders; null for all. The limit is always there: the others are held against it. */
  readonly only: ReadonlySet<string> | null;
  readonly shapes: ReadonlySet<string> | null;
  /** Another checkout of bankql, which this one is compared with and nothing else is done; null: none. */
  readonly before: string | null;
  /** The query whose CPU profile is written, and nothing else is done; null: none. */
  readonly profile: string | null;
  readonly sections: ReadonlySet<string>;
  /** Of one round. */
  readonly seconds: number;
  readonly rounds: number;
  /** How long memory is watched. */
  readonly memorySeconds: number;
  /** How often the start is measured. */
  readonly repeats: number;
  /** Whether docs/performance.md and README.md get the results: those of a run that left nothing out. */
  readonly write: boolean;
  /** As they were given, for the record. */
  readonly text: string;
}

/** Errors: an option that is none. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      shapes: { type: 'string' },
      before: { type: 'string' },
      profile: { type: 'string' },
      sections: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      'no-write': { type: 'boolean', default: false },
    },
  });
  const { quick, only, shapes, before, profile, sections, seconds, rounds } = values;
  const names = (text: string | undefined, known: readonly string[]) => {
    if (text === undefined) return null;
    const given = text.toLowerCase().split(',');
    const unknown = given.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`there is no ${unknown}: ${known.join(', ')}`);
    return new Set(given);
  };
  const positive = (text: string | undefined, otherwise: number) => {
    const number = Number(text ?? otherwise);
    if (number > 0) return number;
    throw new Error(`${text} is no number above 0`);
  };
  const shapeNames = allShapes.map(({ name }) => name);
  const isWhole = !quick && only === undefined && shapes === undefined && sections === undefined;
  return {
    before: before === undefined ? null : resolve(before),
    profile: profile === undefined ? null : [...(names(profile, shapeNames) ?? [])].join(),
    only: names(
      only,
      contenders.map(({ name }) => name),
    ),
    shapes: names(shapes, shapeNames),
    sections: names(sections, sectionNames) ?? new Set(sectionNames),
    seconds: positive(seconds, quick ? 0.5 : 0.9),
    rounds: positive(rounds, quick ? 2 : 6),
    memorySeconds: quick ? 6 : 30,
    repeats: quick ? 2 : 3,
    write: isWhole && !values['no-write'],
    text: args.join(' '),
  };
}
