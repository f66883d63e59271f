import { once } from 'node:events';
import { connect } from 'node:net';
import type { BankqlProcess } from '../support/process.ts';

/**
 * The processor time of a process so far, and the time for which its event loop was blocked since the last reading; in
 * milliseconds.
 */
interface Reading {
  readonly cpuMs: number;
  readonly longestBlockMs: number;
}

/** Loaded into the process first: it sends its readings to clients that connect to its own port. */
const meter = `
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
const delay = monitorEventLoopDelay({ resolution: 2 });
delay.enable();
createServer((socket) => {
  const { user, system } = process.cpuUsage();
  socket.on('error', () => {});
  socket.end(JSON.stringify({ cpuMs: (user + system) / 1000, longestBlockMs: delay.max / 1e6 }));
  delay.reset();
}).listen(0, '127.0.0.1', function () {
  process.stdout.write('meter ' + this.address().port + '\\n');
}).unref();
`;

export const meterOptions = `--import=data:text/javascript;base64,${Buffer.from(meter).toString('base64')}`;

/** Reads the meter of a process that was started with `meterOptions`. */
export async function readMeter({ output }: BankqlProcess): Promise<Reading> {
  const port = /^meter (\d+)$/m.exec(output())?.[1];
  const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('data', (piece) => {
    text += piece;
  });
  await once(socket, 'close');
  const reading: Reading = JSON.parse(text);
  return reading;
}
