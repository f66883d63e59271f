import { describe, expect, test } from 'vitest';
import { dateTimeForms, parseDateTime } from '../../src/schema/date-time.ts';
import { exact, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

const root = '/v1/api/banks/BANK';
const account = `${root}/accounts/A/owner`;

describe('a time of the bank', () => {
  test.each([
    ['2026-11-22T10:30:00Z', '2026-11-22T10:30:00.000Z'],
    ['2026-11-22T10:30:00.1234567+02:00', '2026-11-22T08:30:00.123Z'],
    ['2026-11-22 10:30:00.123456789012+02', '2026-11-22T08:30:00.123Z'],
    ['2026-11-22T10:30-05', '2026-11-22T15:30:00.000Z'],
    ['2026-11-22 10:30', '2026-11-22T10:30:00.000Z'],
    ['2026-11-22T10:30:00+0200', '2026-11-22T08:30:00.000Z'],
    ['2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-22Z', '2026-11-22T00:00:00.000Z'],
    ['2026-11-22z', '2026-11-22T00:00:00.000Z'],
    ['2026-11-22+02:00', '2026-11-21T22:00:00.000Z'],
    ['2026-11-22T10:00:00+02:00[Europe/Paris]', '2026-11-22T08:00:00.000Z'],
    ['2026-11-22T10:00+01:00[Europe/Paris][u-ca=gregory]', '2026-11-22T09:00:00.000Z'],
    ['2026-11-22T10:00:00.5Z[UTC]', '2026-11-22T10:00:00.500Z'],
    ['2026-11-22t10:00:00z', '2026-11-22T10:00:00.000Z'],
    ['2026-11-22 10:00:00 UTC', '2026-11-22T10:00:00.000Z'],
    ['2026-11-22 10:00:00 GMT', '2026-11-22T10:00:00.000Z'],
    ['2026-11-22T10:30:00,25 +0200', '2026-11-22T08:30:00.250Z'],
    ['\uFEFF2026-11-22\r\n', '2026-11-22T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999+00:00', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31', '9999-12-31T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseDateTime(text)?.toISOString()).toBe(expected);
  });

  test('is not read if it is ambiguous or invalid', () => {
    const texts = [
      '',
      'yesterday',
      '22/11/2026',
      '2026-02-31',
      '2026-13-01',
      '2026-11-22T25:00:00Z',
      '2026-11-22T10:30:00+2',
      '2026-11-22+02',
      '20261122',
      '2026-11-22T10:00:00[Europe/Paris]',
      '2026-11-22[Europe/Paris]',
      '2026-11-22Z[Europe/Paris]',
      '2026-11-22T10:00:00+02:00[!Europe/Paris]',
      '2026-11-22T10:00:00+02:00[Europe/Paris',
      '2026-11-22T10:00:00+02:00[]',
      '2026-11-22T10:00:00 CET',
      '2026-11-22T10:00:00+25:00',
      '2026-W47-7',
      '2026-326',
      '1795341600',
      'Sun, 22 Nov 2026 10:00:00 GMT',
      '9999-12-31T23:59:59-05:00',
      '0000-01-01T00:00:00+14:00',
    ];
    expect(texts.filter((text) => parseDateTime(text) !== null)).toEqual([]);
  });
});

test('each form in the description of DateTime is read', () => {
  const [listed = '', refused = ''] = dateTimeForms.split('A time zone without an offset');
  const forms = [...listed.matchAll(/`(2026-[^`]+)`/g)].map(([, form = '']) => form);
  expect(forms).toHaveLength(6);
  for (const form of forms) expect([form, parseDateTime(form)]).toEqual([form, expect.any(Date)]);
  for (const [, offset = ''] of listed.matchAll(/`((?:[A-Z+][^`]*))`/g))
    expect([offset, parseDateTime(`2026-11-22T10:30${offset}`)]).toEqual([offset, expect.any(Date)]);
  expect(refused).toContain('are not read');
});

test.each([
  ['2026-11-22T10:00:00+02:00[Europe/Paris]', '2026-11-22T08:00:00.000Z'],
  ['2026-11-22Z', '2026-11-22T00:00:00.000Z'],
  ['22/11/2026', null],
  ['9999-12-31T23:59:59-05:00', null],
])('%s is %s, in an answer of the bank and in an argument', async (written, startedAt) => {
  bank.otherwise({ body: { transaction_requests: [{ start_date: written }] } });
  const query = `query ($since: DateTime) { bank { account(accountId: "A") {
    transactionRequests(since: $since) { nodes { startedAt startDate } }
  } } }`;
  const nodes = [{ startedAt, startDate: written }];
  expect(await ask(query)).toEqual({ data: { bank: { account: { transactionRequests: { nodes } } } } });
  const { errors } = await ask(query, { since: written });
  expect(errors?.[0]?.extensions.code).toBe(startedAt === null ? 'BAD_USER_INPUT' : undefined);
});

test.each([
  ['a Decimal', 'mutation { putAccount(input: { accountId: "A", account: { balance: { amount: ', '"1e3"'],
  ['a Decimal', 'mutation { putAccount(input: { accountId: "A", account: { balance: { amount: ', 'true'],
  ['a DateTime', '{ bank { account(accountId: "A") { transactionRequests(since: ', '"yesterday"'],
  ['a DateTime', '{ bank { account(accountId: "A") { transactionRequests(since: ', '2026'],
])('the error for an invalid %s literal has its location: %s%s', async (_type, before, literal) => {
  const after = before.startsWith('mutation') ? ' } } }) { trackId } }' : ') { totalCount } } } }';
  const { errors } = await ask(before + literal + after);
  expect(errors).toEqual([expect.objectContaining({ locations: [{ line: 1, column: before.length + 1 }] })]);
  expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
});

test('each time has a DateTime field beside the text of the bank, and lists in texts are lists', async () => {
  bank.on(`GET ${account}/transactions/T/transaction`, {
    body: {
      details: {
        posted: '2026-11-22T10:30:00+02:00',
        completed: 'soon',
        value: { amount: exact('-3.10'), currency: 'eur' },
      },
      metadata: { tags: ' home ,  by month ,, \n' },
    },
  });
  bank.on(`GET ${account}/transaction-requests`, {
    body: {
      'transaction-requests': [{ transaction_ids: 'T1 T2,T3', start_date: '2026-01-02', end_date: '' }],
    },
  });
  bank.on(`GET ${root}/customer/messages`, {
    body: { messages: [{ date: '2026-01-02T03:04:05Z' }] },
  });
  const { data, errors } = await ask(`{
    bank {
      account(accountId: "A") {
        transaction(transactionId: "T") {
          details { posted postedAt completed completedAt value { amount currency } }
          metadata { tags }
        }
        transactionRequests { nodes { transactionIds startedAt endedAt } }
      }
      messages { nodes { date sentAt } }
    }
  }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    bank: {
      account: {
        transaction: {
          details: {
            posted: '2026-11-22T10:30:00+02:00',
            postedAt: '2026-11-22T08:30:00.000Z',
            completed: 'soon',
            completedAt: null,
            value: { amount: '-3.10', currency: 'eur' },
          },
          metadata: { tags: ['home', 'by month'] },
        },
        transactionRequests: {
          nodes: [
            {
              transactionIds: ['T1', 'T2', 'T3'],
              startedAt: '2026-01-02T00:00:00.000Z',
              endedAt: null,
            },
          ],
        },
      },
      messages: { nodes: [{ date: '2026-01-02T03:04:05Z', sentAt: '2026-01-02T03:04:05.000Z' }] },
    },
  });
  expect(bank.calls).toHaveLength(3);
});

test('a time that cannot be read is null, and is counted as a deviation', async () => {
  const drifts: string[] = [];
  const onDrift = ({ operation, field }: { operation: string; field: string }) =>
    void drifts.push(`${operation} ${field}`);
  await using fixture = await startBankqlFixture({ bankOptions: { onDrift } });
  fixture.bank.otherwise({
    body: { messages: [{ date: 'yesterday' }, { date: 'soon' }, { date: '2026-01-02' }, {}] },
  });
  expect(await fixture.ask('{ bank { messages { nodes { date sentAt } } } }')).toEqual({
    data: {
      bank: {
        messages: {
          nodes: [
            { date: 'yesterday', sentAt: null },
            { date: 'soon', sentAt: null },
            { date: '2026-01-02', sentAt: '2026-01-02T00:00:00.000Z' },
            { date: null, sentAt: null },
          ],
        },
      },
    },
  });
  expect(new Set(drifts)).toEqual(new Set(['getMessagesOwner date']));
});
