import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createSender, hostileRequests } from './hostile-requests.ts';

/**
 * A thread that sends the hostile requests until it is stopped: at a fixed rate, whether or not they are answered, or, if the
 * rate is null, one after the other without a pause.
 */
export interface Attack {
  readonly url: string;
  readonly perSecond: number | null;
}

const { url, perSecond }: Attack = workerData;
const { send, close } = createSender(url, 'mallory');
let attacks = 0;
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});
/** The maximum number of requests without an answer: the attacker has this number of connections. */
const mostUnanswered = 200;
let unanswered = 0;
const beginning = performance.now();
while (!isOver) {
  for (const hostile of hostileRequests) {
    if (isOver) break;
    if (perSecond === null) {
      await send(hostile);
      attacks++;
      continue;
    }
    const due = beginning + (attacks * 1000) / perSecond;
    const wait = due - performance.now();
    if (wait > 0 || unanswered >= mostUnanswered) await delay(Math.max(1, wait));
    if (unanswered >= mostUnanswered) continue;
    attacks++;
    unanswered++;
    void send(hostile).finally(() => unanswered--);
  }
}
await close();
parentPort?.postMessage(attacks);
