import { parentPort, workerData } from 'node:worker_threads';
import { createSender, hostileRequests } from './hostile-requests.ts';

/** A thread that sends the hostile requests one after the other, without a pause, until it is told to end. */

const { send, close } = createSender(String(workerData), 'mallory');
let attacks = 0;
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});
while (!isOver) {
  for (const hostile of hostileRequests) {
    if (isOver) break;
    await send(hostile);
    attacks++;
  }
}
await close();
parentPort?.postMessage(attacks);
