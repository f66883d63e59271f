import { expect, test } from 'vitest';
import { freshBank, payTo, recordOf, recordsOf } from './bank-caller.ts';

const ids = { ACCOUNT_ID: 'alice-current' };

async function seen(now?: number) {
  await using bank = await freshBank({ now });
  const { call } = bank;
  const { id } = Object((await call('postMakeTransaction', ids, { body: payTo('bob-current') })).json);
  const paid = recordOf('getTransaction', await call('getTransaction', { ...ids, TRANSACTION_ID: id }));
  const requests = recordsOf('getTransactionsRequest', await call('getTransactionsRequest', ids));
  const messages = recordsOf('getMessagesOwner', await call('getMessagesOwner'));
  return {
    posted: String(Object(paid.details).posted),
    dates: requests.filter(({ body }) => body).map(({ start_date }) => String(start_date).slice(0, 10)),
    message: messages.at(-1)?.date,
  };
}

test('dates are relative to the time that is given, at which the clock stands still', async () => {
  expect(await seen(Date.UTC(2024, 2, 1, 23, 59))).toEqual({
    posted: '2024-03-01T23:59:00.000Z',
    // Over the 29th of February.
    dates: ['2023-11-02', '2024-02-21', '2024-02-22', '2024-02-27', '2024-02-28', '2024-02-29'],
    message: '2024-02-21T16:45:00.000Z',
  });
});

test('without one they are relative to the start, and the clock runs', async () => {
  const start = Date.now();
  const { posted, dates } = await seen();
  expect(Date.parse(posted) - start).toBeGreaterThanOrEqual(0);
  expect(Date.parse(posted) - start).toBeLessThan(60_000);
  const sinceLast = (start - Date.parse(dates.at(-1) ?? '')) / 86_400_000;
  expect(sinceLast).toBeGreaterThan(0.9);
  expect(sinceLast).toBeLessThan(2.1);
});
