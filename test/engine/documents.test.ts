import { expect, test } from 'vitest';
import { DocumentCacheStats } from '../../src/engine/documents.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { createTestBankql } from '../support/bankql.ts';
import { keptMegabytes } from '../support/memory.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

/** A short text, of which fragments make nearly as many fields as an operation may hold. */
const manyFields = (name: string) => `query ${name}($a: Boolean!, $b: Boolean!) {
  bank {
    bankId @skip(if: $a) id @skip(if: $b)
    ${Array.from({ length: 19 }, (_, index) => `a${index}: account(accountId: "A") { ...A }`).join(' ')}
  }
}
fragment A on Account {
  id bankId accountId label number iban swiftBic types viewsAvailable ownerIds viewId bankIds
  balance { amount currency } owners { ...C }
}
fragment C on Customer { id customerId legalName email mobilePhoneNumber bankIds bankId __typename }`;

const documentCacheBytes = 16 * 1024 * 1024;
const documentStats = new DocumentCacheStats();

test('documents whose fragments multiply, with all that @skip decides, take no more than a bounded memory', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise(anyAnswer);
  await using bankql = await createTestBankql({
    bankUrl: bank.url,
    limits: { timeoutMs: 600_000, restCalls: 1000 },
    documentCacheBytes,
    documentStats,
  });
  const askAll = async (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      for (const a of [true, false]) {
        for (const b of [true, false]) {
          const { errors } = await bankql.ask(manyFields(`D${index}`), { a, b });
          expect(errors).toBeUndefined();
        }
      }
    }
  };
  const before = await keptMegabytes();
  await askAll(0, 30);
  const full = await keptMegabytes();
  expect(documentStats.bytes).toBeGreaterThan(documentCacheBytes / 2);
  await askAll(30, 60);
  const later = await keptMegabytes();
  expect(documentStats.bytes).toBeLessThanOrEqual(documentCacheBytes);
  // As many again are kept at most as long as there is room.
  expect(full - before).toBeLessThan(25);
  expect(later - full).toBeLessThan(2.5);
});
