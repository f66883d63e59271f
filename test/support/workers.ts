import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import type { BankqlProcess } from './process.ts';

/** The process ids of a primary's workers. */
export const workersOf = ({ child }: Pick<BankqlProcess, 'child'>): number[] =>
  spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line !== '')
    .map(Number);

/** Opens connections and sends nothing over them: the primary hands over each of them. Shape: stops that. */
export function keepConnecting(url: string): () => Promise<void> {
  let isOver = false;
  const connectors = Array.from({ length: 20 }, async () => {
    while (!isOver)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.destroy());
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
  });
  return async () => {
    isOver = true;
    await Promise.all(connectors);
  };
}
