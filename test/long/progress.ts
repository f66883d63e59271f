import { setTimeout as delay } from 'node:timers/promises';

/** The interval of progress lines, in milliseconds. */
const lineMs = 15_000;

let last = performance.now();

/** Prints the current activity of a long check or a bench to stderr; results go to stdout. */
export function progress(activity: string | null): void {
  if (activity === null || performance.now() - last < lineMs) return;
  last = performance.now();
  process.stderr.write(`${activity}\n`);
}

/** Waits, and shows how much of the time has passed. */
export async function waitSeconds(seconds: number, activity: string): Promise<void> {
  for (let passed = 0; passed < seconds; passed++) {
    progress(`${activity}: ${passed} of ${seconds} s`);
    await delay(1000 * Math.min(1, seconds - passed));
  }
}

/** A count with separated thousands. */
export const counted = (count: number): string => count.toLocaleString('en');
