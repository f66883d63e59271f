import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../../src/payments/stores/memory-store.ts';
import { migrationScripts } from '../../../../src/payments/stores/redis/migration.ts';
import { createRedisStore } from '../../../../src/payments/stores/redis/redis-store.ts';
import { redisAddress, SimulatedRedis } from '../../../simulation/simulated-redis.ts';

const retentionMs = 86_400_000;

/** Found by check:simulation: the message was "ECONNRESET" alone. */
test('a connection that is lost while the start migrates records ends it with the name of the server and the remedy', async () => {
  const redis = new SimulatedRedis(createMemoryStore({ retentionMs }));
  const server = createServer((socket) => {
    socket.on('data', (chunk) => {
      if (chunk.includes(migrationScripts.end.sha1)) socket.resetAndDestroy();
    });
    redis.serve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const address = { ...redisAddress, host: '127.0.0.1', port };
    await expect(createRedisStore({ address, retentionMs, timeoutMs: 500 })).rejects.toThrow(
      new RegExp(
        `^The payment store redis://127\\.0\\.0\\.1:${port}/0 cannot be reached: .+\\. STATE_URL has to name`,
      ),
    );
  } finally {
    server.close();
  }
});
