import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { createTestBankql } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** How much of the heap is in use, in megabytes. */
function usedMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

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

test('documents whose fragments multiply, with all that @skip decides, take no more than a bounded memory', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise(anyAnswer);
  await using bankql = createTestBankql({
    bankUrl: bank.url,
    limits: { timeoutMs: 20_000, restCalls: 1000 },
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
  const before = usedMb();
  await askAll(0, 120);
  const full = usedMb();
  await askAll(120, 240);
  const later = usedMb();
  // As many again are kept at most as long as there is room.
  expect(full - before).toBeLessThan(100);
  expect(later - full).toBeLessThan(10);
}, 60_000);
