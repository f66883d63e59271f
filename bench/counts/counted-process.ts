import { createHook } from 'node:async_hooks';
import { type Profiler, Session } from 'node:inspector/promises';
import { type CountedGroup, groupOf } from './groups.ts';

/**
 * A process of bankql that counts its work between two messages of its parent: `node --expose-gc counted-process.ts MAIN`. MAIN
 * is the entry of the checkout that is counted.
 */

/** The counts of one request, by the part of the process that does the work. */
export type Counts = Readonly<Record<'promises' | 'timers' | 'immediates', Record<CountedGroup, number>>>;

const kinds = { PROMISE: 'promises', Timeout: 'timers', Immediate: 'immediates' } as const;
const isKind = (type: string): type is keyof typeof kinds => Object.hasOwn(kinds, type);

const counts: Record<'promises' | 'timers' | 'immediates', Record<string, number>> = {
  promises: {},
  timers: {},
  immediates: {},
};

Error.stackTraceLimit = 30;
const hook = createHook({
  init(_, type) {
    if (!isKind(type)) return;
    const { stack = '' } = new Error();
    // Node renews the text of the header Date once a second. This is not counted, because only some requests do it.
    if (stack.includes('at utcDate (node:internal/http')) return;
    const group = groupOf(stack.slice(stack.indexOf('\n', stack.indexOf('\n') + 1)));
    const counted = counts[kinds[type]];
    counted[group] = (counted[group] ?? 0) + 1;
  },
});

const session = new Session();
session.connect();

/** Functions that are also counted separately: the file and the name of each. */
const marked = {
  /**
   * Objects of PendingField: for each value of the answer that is pending or fails, and for each `info` that a
   * resolver takes.
   */
  placeholders: [/\/src\/executor\//, 'PendingField'],
  /** Reads that no earlier read of the operation has answered. */
  loads: [/\/node_modules\/dataloader\//, 'load'],
} as const;

/** The function calls of one request, by the part of the process, and those of the marked functions. */
export interface CoveredCalls {
  readonly calls: Record<string, number>;
  readonly marked: Record<keyof typeof marked, number>;
}

async function functionCalls(): Promise<CoveredCalls> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  const calls: Record<string, number> = {};
  const sums = { placeholders: 0, loads: 0 };
  const callsIn = ({ functions }: Profiler.ScriptCoverage, name?: string) =>
    functions
      .filter(({ functionName }) => name === undefined || functionName === name)
      .reduce((sum, { ranges: [own] }) => sum + (own && own.startOffset > 0 ? own.count : 0), 0);
  for (const script of result) {
    if (script.url.includes('/bench/counts/')) continue;
    const group = groupOf(script.url);
    calls[group] = (calls[group] ?? 0) + callsIn(script);
    for (const what of ['placeholders', 'loads'] as const) {
      const [file, name] = marked[what];
      if (file.test(script.url)) sums[what] += callsIn(script, name);
    }
  }
  return { calls, marked: sums };
}

/** The bytes that are alive after a garbage collection. */
async function bytesAlive(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('start it with --expose-gc');
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}

const commands = {
  async count() {
    for (const counted of Object.values(counts)) for (const group in counted) delete counted[group];
    hook.enable();
  },
  async counted() {
    hook.disable();
    return counts;
  },
  async cover() {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
  },
  covered: functionCalls,
  alive: bytesAlive,
};

export type Command = keyof typeof commands;

process.on('message', async (command: Command) => process.send?.({ answer: await commands[command]() }));

// bankql reads the remaining words as its own arguments.
const [main = ''] = process.argv.splice(2, 1);
await import(main);
