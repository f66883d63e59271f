import { setTimeout as delay } from 'node:timers/promises';
import { createProgress } from '../../src/commands/terminal.ts';

/** Where no terminal shows it, a line of what is being done comes this often, in milliseconds. */
const lineMs = 15_000;

let last = performance.now();

function writeLine(activity: string | null): void {
  if (activity === null || performance.now() - last < lineMs) return;
  last = performance.now();
  process.stderr.write(`${activity}\n`);
}

/**
 * Tells whoever waits for a long check or a bench what it is doing, on stderr: what it found is on stdout. On a terminal it
 * keeps the process alive until it is told that all is done, by null.
 */
export const progress = process.stderr.isTTY ? createProgress(process.stderr) : writeLine;
process.on('exit', () => progress(null));

/** Waits, and shows how much of the time has passed. */
export async function waitSeconds(seconds: number, activity: string): Promise<void> {
  for (let passed = 0; passed < seconds; passed++) {
    progress(`${activity}: ${passed} of ${seconds} s`);
    await delay(1000 * Math.min(1, seconds - passed));
  }
}

/** A count with its thousands apart. */
export const counted = (count: number): string => count.toLocaleString('en');
