import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
// It comes with vitest, as what a web app is bundled with.
import { build } from 'vite';
import { expect, test } from 'vitest';

const entry = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url));

test('the client brings nothing along, and has less than 4 KB minified and compressed', async () => {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      lib: { entry, formats: ['es'], fileName: 'client' },
      target: 'es2023',
    },
  });
  const chunks = [built].flat().flatMap((each) => ('output' in each ? each.output : []));
  expect(chunks).toHaveLength(1);
  const [chunk] = chunks;
  if (chunk?.type !== 'chunk') throw new Error('no code was made');
  expect(chunk.imports).toEqual([]);
  expect(chunk.exports.sort()).toEqual(['createPayments', 'fetchSend', 'paymentQuery']);
  expect(gzipSync(chunk.code).length).toBeLessThan(4096);
});
