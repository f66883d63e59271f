import { setTimeout as delay } from 'node:timers/promises';

/** How many of one request are sent at the same time. */
const together = 8;

/** Sends a request; its answer is read to its end. */
type Send = () => Promise<{ readonly status: number }>;

interface TogetherOptions {
  /** The requests, and their texts to print. */
  readonly worst: readonly { readonly text: string; readonly send: Send }[];
  /** What the good caller reads. */
  readonly read: Send;
  readonly say: (line: string) => void;
}

/** Sends each of the worst requests several at a time, and prints how long a good caller's reads wait meanwhile. */
export async function sendTogether({ worst, read, say }: TogetherOptions): Promise<void> {
  say(`the worst ${worst.length}, ${together} at a time, and a good caller beside them`);
  say("  took ms   statuses      reads  read's worst ms  not answered");
  for (const { text, send } of worst) {
    const started = performance.now();
    let isOver = false;
    const attack = Promise.all(
      Array.from({ length: together }, () =>
        send().then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    ).finally(() => {
      isOver = true;
    });
    const reads: Promise<{ readonly status: number; readonly waited: number }>[] = [];
    // Whatever comes back, there is one more every few milliseconds: none may hide behind another that waits.
    do {
      const asked = performance.now();
      reads.push(
        read()
          .catch(() => ({ status: 0 }))
          .then(({ status }) => ({ status, waited: performance.now() - asked })),
      );
      await delay(20);
    } while (!isOver);
    const statuses = [...new Set(await attack)].join(',');
    const took = performance.now() - started;
    const felt = await Promise.all(reads);
    const longest = Math.max(...felt.map(({ waited }) => waited));
    const refused = felt.filter(({ status }) => status !== 200).length;
    say(
      `${took.toFixed(1).padStart(9)} ${statuses.padStart(10)} ${String(felt.length).padStart(10)} ` +
        `${longest.toFixed(1).padStart(16)} ${String(refused).padStart(13)}`,
    );
    say(`          ${text.slice(0, 200)}`);
  }
}
