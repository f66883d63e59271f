import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import {
  type AttemptOutcome,
  parseUnwrittenOutcome,
  writeOutcome,
} from '../../payments/unwritten-outcome.ts';
import { confirm } from './confirm.ts';
import { CommandError, type OperatorTask } from './context.ts';
import { isoTime, printable } from './payment-table.ts';

/**
 * Writes the ends of payments that a bankql left in its log, because it stopped while the store was away. What the store
 * knows already, or somebody has settled, stays as it is, so that the same log may be read twice.
 */
export const writeUnwrittenOutcomes =
  (file: string, isConfirmed: boolean): OperatorTask =>
  async (context) => {
    const { withStore, write, note } = context;
    const { ends, damaged } = await readEnds(file);
    for (const line of damaged) note(`${line}\n`);
    if (ends.length === 0) throw new CommandError(`${file} holds no unwritten end. Nothing was written.`);
    for (const end of ends) write(`${describe(end)}\n`);
    await confirm(
      context,
      `Write ${ends.length === 1 ? 'this end' : `these ${ends.length} ends`}?`,
      isConfirmed,
    );
    const written = await withStore(async (store) => {
      let count = 0;
      for (const end of ends) {
        if (await writeOutcome(store, end)) count++;
        else note(`${end.id} had ended already: it stays as it is.\n`);
      }
      return count;
    });
    write(`Wrote ${written} of ${ends.length}.\n`);
    if (damaged.length > 0) throw new CommandError(`${damaged.length} damaged lines were passed over.`);
  };

async function readEnds(file: string) {
  /** Of each payment once: a process writes its line at the signal and again at its end. */
  const ends = new Map<string, AttemptOutcome>();
  const damaged: string[] = [];
  let number = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
      number++;
      try {
        const end = parseUnwrittenOutcome(line);
        if (end !== null) ends.set(`${end.id} ${end.trackId}`, end);
      } catch (error) {
        damaged.push(`${file}:${number}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } catch (error) {
    throw new CommandError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return { ends: [...ends.values()], damaged };
}

const describe = ({ id, trackId, outcome, at }: AttemptOutcome) =>
  printable(
    `${id.slice(0, 12)}  ${isoTime(at)}  ${outcome === null ? 'not sent: its key becomes free' : outcome.state}  ${trackId}`,
  );
