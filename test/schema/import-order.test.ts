import { globSync } from 'node:fs';
import { join } from 'node:path';
import SchemaBuilder from '@pothos/core';
import { expect, test, vi } from 'vitest';

const folder = join(import.meta.dirname, '../../src/schema');

/** Types refer to each other, so their files import each other in circles. They use each other only inside `fields` functions. */
test('each file of the schema may be the first that is imported', async () => {
  const failed: string[] = [];
  // Pothos itself is loaded once, but each load of the plugin registers it again.
  SchemaBuilder.allowPluginReRegistration = true;
  for (const file of globSync('*.ts', { cwd: folder })) {
    vi.resetModules();
    await import(join(folder, file)).catch((error: Error) => failed.push(`${file}: ${error.message}`));
  }
  expect(failed).toEqual([]);
});
