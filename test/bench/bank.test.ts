import { expect, test } from 'vitest';
import { z } from 'zod';
import { type PreparedAnswer, prepareAnswers } from '../../bench/bank/answers.ts';
import { serialMark } from '../../bench/bank/records.ts';
import { parseExactJson } from '../../src/contract/exact-json.ts';
import { operations } from '../../src/contract/operations.ts';

/** What the bench's bank answers is what a bank would answer. */

const answers = prepareAnswers();
const bodyOf = ({ whole }: PreparedAnswer) => whole.toString().split('\r\n\r\n')[1] ?? '';
const operationOf = ({ operation }: PreparedAnswer) =>
  Object.values(operations).find(({ id }) => id === operation);

test('every answer keeps the contract, and its operation’s rule for credentials', () => {
  const broken = [...answers].filter(([, prepared]) => {
    const operation = operationOf(prepared);
    const record = operation?.answer ?? z.never();
    const shape = operation?.envelope ? z.object({ [operation.envelope]: z.array(record).min(1) }) : record;
    return prepared.auth !== operation?.auth || !shape.safeParse(parseExactJson(bodyOf(prepared))).success;
  });
  expect(broken.map(([path]) => path)).toEqual([]);
  expect(answers.size).toBeGreaterThan(200);
});

test('an answer with another serial differs in nothing else', () => {
  const serial = Buffer.from(serialMark);
  const broken = [...answers.values()].filter(
    ({ whole, beforeSerial, afterSerial }) =>
      !Buffer.concat([beforeSerial, serial, afterSerial]).equals(whole),
  );
  expect(broken).toEqual([]);
});

test('no amount has digits that JSON.parse would change', () => {
  const amounts = [...answers.values()].flatMap((prepared) =>
    [...bodyOf(prepared).matchAll(/"amount":([^,}]+)/g)].map(([, digits]) => digits),
  );
  expect(amounts.length).toBeGreaterThan(100);
  expect(amounts.filter((digits) => String(Number(digits)) !== digits)).toEqual([]);
});

test('the list of Q1 has 100 branches in 46 KB', () => {
  const list = answers.get('/v1/api/banks/BENCHCY2/branches');
  expect(list?.whole.length).toBeGreaterThan(45_000);
  expect(list?.whole.length).toBeLessThan(48_000);
});
