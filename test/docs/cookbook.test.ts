import { expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { codeBlock, executePage, jsonBlock } from '../support/executed-page.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** A document, and what an earlier run put behind it. */
const block = /^```(graphql)\n([\s\S]*?)^```\n(?:\n```json\n[\s\S]*?^```\n(?:\nREST: .*\n)?)?/gm;

test('the answers in docs/clients.md are those of the sandbox bank', async () => {
  const now = Date.parse('2026-01-15T12:00:00Z');
  await using fixture = await startRecordedSandbox({ sandbox: { now } });
  const { bankql, recorder } = fixture;
  const { file, executed, count } = await executePage(
    'clients.md',
    block,
    async ([, language = '', document = '']) => {
      recorder.calls.length = 0;
      const answer = await bankql.ask(document, {}, alice);
      const calls = recorder.calls.map(({ method, path }) => `\`${method} ${path.replace('/v1/api', '')}\``);
      const rest = calls.length === 0 ? 'none' : calls.sort().join(', ');
      return `${codeBlock(language, document)}\n${jsonBlock(answer)}\nREST: ${rest}\n`;
    },
  );
  await expect(executed).toMatchFileSnapshot(file);
  expect(count).toBeGreaterThanOrEqual(12);
});
