import { setTimeout as delay } from 'node:timers/promises';

/** How often a line says what is being done, in milliseconds. */
const lineMs = 15_000;

let last = performance.now();

/** Tells whoever waits for a long check or a bench what it is doing, on stderr: what it found is on stdout. */
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

/** A count with its thousands apart. */
export const counted = (count: number): string => count.toLocaleString('en');
