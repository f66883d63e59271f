import { describe, expect, test } from 'vitest';
import { readState, signState } from '../../src/agents/signed-state.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import {
  agree,
  agreed,
  answerOf,
  call,
  documents,
  holdBank,
  input,
  questionIn,
  send,
  startAgents,
} from '../support/agents.ts';
import { logLines } from '../support/log-lines.ts';

const paid = (result: Parameters<typeof answerOf>[0]) => answerOf(result).data.makeTransaction;

describe('a payment', () => {
  test('is sent only after the person agreed, once, however often the call is repeated', async () => {
    await using agents = await startAgents();
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    expect(asked.resultType).toBe('input_required');
    expect(questionIn(asked)).toBe(
      [
        'Pay 12.50 EUR?',
        'From: account "alice-current" at bank "SNDBCY2N"',
        'To: account "bob-current" at bank "SNDBCY2N"',
        'Purpose: "rent"',
        'Confirmation by the bank: as the bank decides',
      ].join('\n'),
    );
    const form = asked.inputRequests?.confirmation.params.requestedSchema;
    expect(form).toMatchObject({ properties: { pay: { type: 'boolean' } }, required: ['pay'] });
    expect(JSON.stringify(form)).not.toContain('default');
    expect(agents.bank.recorder.calls).toEqual([]);
    const first = await agree(agents.url, 'Pay', given, asked);
    expect(paid(first)).toMatchObject({ replayed: false, payment: { state: 'DONE' }, userErrors: [] });
    const repeated = await Promise.all(
      Array.from({ length: 9 }, () => agree(agents.url, 'Pay', given, asked)),
    );
    for (const each of repeated)
      expect(paid(each)).toMatchObject({ replayed: true, payment: { trackId: paid(first).payment.trackId } });
    expect(agents.payments()).toBe(1);
    const [key = ''] = /[\da-f-]{36}/.exec(first.content?.[1]?.text ?? '') ?? [];
    expect(answerOf(await call(agents.url, 'Paid', { key }))).toEqual({
      data: { payment: { state: 'DONE' } },
    });
  });

  test('that is agreed to ten times at once is one', async () => {
    await using agents = await startAgents();
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const results = await Promise.all(
      Array.from({ length: 10 }, () => agree(agents.url, 'Pay', given, asked)),
    );
    expect(agents.payments()).toBe(1);
    expect(
      results.filter((each) => paid(each).replayed === false && paid(each).userErrors.length === 0),
    ).toHaveLength(1);
    for (const each of results)
      for (const { code } of paid(each).userErrors) expect(code).toBe('IDEMPOTENCY_IN_PROGRESS');
  });

  test('whose connection is cut after the agreement ends, and the same call answers its record', async () => {
    await using agents = await startAgents();
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const { arrived, released } = holdBank(agents);
    const client = new AbortController();
    const cut = agree(agents.url, 'Pay', given, asked, { signal: client.signal });
    await arrived.promise;
    client.abort();
    await expect(cut).rejects.toThrow();
    expect(paid(await agree(agents.url, 'Pay', given, asked)).userErrors).toMatchObject([
      { code: 'IDEMPOTENCY_IN_PROGRESS' },
    ]);
    released.resolve();
    await expect
      .poll(async () => paid(await agree(agents.url, 'Pay', given, asked)))
      .toMatchObject({ replayed: true, payment: { state: 'DONE' } });
    expect(agents.payments()).toBe(1);
  });

  test('as a request for a transaction is asked about with its type, and its challenge', async () => {
    const document = `mutation Ask($input: PutTransactionRequestInput!) { putTransactionRequest(input: $input) { payment { state } userErrors { code } } }`;
    await using agents = await startAgents({ documents: { 'ask.graphql': document } });
    const given = {
      input: {
        ...input(),
        to: { accountId: 'bob-current' },
        description: null,
        transactionRequestType: 'SEPA',
        challengeType: 'SMS',
      },
    };
    const asked = await call(agents.url, 'Ask', given);
    expect(questionIn(asked).split('\n')).toEqual([
      'Request a payment of 12.50 EUR, of the type "SEPA"?',
      'From: account "alice-current" at bank "SNDBCY2N"',
      'To: account "bob-current" at the bank that your bank chooses',
      'Purpose: none',
      'Confirmation by the bank: "SMS"',
    ]);
    expect(agents.payments()).toBe(0);
    await agree(agents.url, 'Ask', given, asked);
    expect(agents.payments()).toBe(1);
  });

  test('is described with quotes, and with each character that nobody sees', async () => {
    await using agents = await startAgents();
    const description = 'rent"\nPay 1 EUR? \\ \u202Etxt\u2028\u200B\u00A0\u{E0041}';
    const asked = await call(agents.url, 'Pay', { input: { ...input(), description } });
    expect(questionIn(asked)).toContain(
      '\nPurpose: "rent\\"\\nPay 1 EUR? \\\\ \\u{202e}txt\\u{2028}\\u{200b}\\u{a0}\\u{e0041}"\n',
    );
  });

  test('is described so that no text looks like another one, or like the end of it', async () => {
    await using agents = await startAgents();
    const ask = async (wrong: object) =>
      questionIn(await call(agents.url, 'Pay', { input: { ...input(), ...wrong } })).split('\n');
    for (const [description, shown] of [
      // Fonts show these characters as nothing, as a blank, or as a box.
      [
        'a\u3164b\u115F\uFE0F\u034F\u2800\u{E0100}\uE000',
        'a\\u{3164}b\\u{115f}\\u{fe0f}\\u{34f}\\u{2800}\\u{e0100}\\u{e000}',
      ],
      ['rent\u201D To: \uFF02x\u2033', 'rent\\\u201D To: \\\uFF02x\\\u2033'],
      // Many blanks would push the rest of the text into another line of a narrow form.
      ['rent   To', 'rent \\u{20}\\u{20}To'],
      [
        '\u0336\u0336 e\u0301 e\u0301\u0302\u0303\u0304',
        '\\u{336}\\u{336} e\u0301 e\u0301\u0302\u0303\\u{304}',
      ],
    ])
      expect(await ask({ description })).toContain(`Purpose: "${shown}"`);
    // Cyrillic letters.
    const names = await ask({
      to: { accountId: 'b\u043Eb-current' },
      value: { amount: '1', currency: '\u0415UR' },
    });
    expect(names).toContain('To: account "b\\u{43e}b-current" at the bank that your bank chooses');
    expect(names).toContain('Pay 1 "\\u{415}UR"?');
    expect(agents.payments()).toBe(0);
  });

  test('that cannot be made is refused, and nobody is asked', async () => {
    await using agents = await startAgents();
    for (const wrong of [
      { value: { amount: '0' } },
      { to: { accountId: ' ' } },
      { description: 'x'.repeat(513) },
    ]) {
      const result = await call(agents.url, 'Pay', { input: { ...input(), ...wrong } });
      expect(paid(result).userErrors).toMatchObject([{ code: 'BAD_USER_INPUT' }]);
    }
    expect(agents.payments()).toBe(0);
  });
});

describe('nothing is sent', () => {
  test.each<[string, object]>([
    ['declines', { confirmation: { action: 'decline' } }],
    ['cancels', { confirmation: { action: 'cancel' } }],
    ['declines with a tick', { confirmation: { action: 'decline', content: { pay: true } } }],
    ['accepts without the tick', { confirmation: { action: 'accept', content: { pay: false } } }],
    ['accepts with a text', { confirmation: { action: 'accept', content: { pay: 'true' } } }],
    ['accepts nothing', { confirmation: { action: 'accept' } }],
  ])('if the person %s', async (_what, inputResponses) => {
    await using agents = await startAgents();
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const result = await agree(agents.url, 'Pay', given, asked, { inputResponses });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not agree') }],
    });
    expect(agents.payments()).toBe(0);
  });

  test('if the state is missing, forged, expired, or of another amount, tool, caller or secret: the person is asked again', async () => {
    let now = Date.now();
    const twin = `mutation Twin($input: MakeTransactionInput!) { makeTransaction(input: $input) { userErrors { code } } }`;
    await using agents = await startAgents({
      documents: { ...documents, 'twin.graphql': twin },
      now: () => now,
    });
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const { requestState = '' } = asked;
    const { secret } = agents.store;
    const state = readState(secret, requestState, now);
    if (state === null) throw new Error('it is a state');
    const [body = '', signature = ''] = requestState.split('.');
    const later = Buffer.from(JSON.stringify({ ...state, until: now + 1e9 })).toString('base64url');
    const bob = {
      'Ocp-Apim-Subscription-Key': 'sandbox-key',
      'Auth-Provider-Name': 'sandbox',
      'Auth-ID': 'bob',
    };
    const repeat = (
      requestState: string | undefined,
      { name = 'Pay', what = given, headers = undefined as Record<string, string> | undefined } = {},
    ) => call(agents.url, name, what, { inputResponses: agreed, requestState, ...(headers && { headers }) });
    const results = [
      await repeat(undefined),
      await repeat('x'),
      await repeat(`${body}.`),
      await repeat(`${later}.${signature}`),
      await repeat(`${requestState}.x`),
      await repeat(signState('00'.repeat(32), state)),
      await repeat(signState(secret, { ...state, until: now })),
      await repeat(requestState, { what: { input: input('12.51') } }),
      await repeat(requestState, { what: { input: { ...input(), description: 'other' } } }),
      await repeat(requestState, { name: 'Twin' }),
      await repeat(requestState, { headers: bob }),
    ];
    for (const result of results) {
      expect(result.resultType).toBe('input_required');
      expect(readState(secret, result.requestState, now)?.key).not.toBe(state.key);
    }
    now += 600_000;
    expect((await repeat(requestState)).resultType).toBe('input_required');
    expect(agents.payments()).toBe(0);
    now -= 1;
    expect(paid(await repeat(requestState)).payment.state).toBe('DONE');
    expect(agents.payments()).toBe(1);
  });

  test.each([{}, { elicitation: { url: {} } }, { sampling: {} }])(
    'for a client without forms (%j)',
    async (capabilities) => {
      await using agents = await startAgents();
      const response = await send(
        agents.url,
        'tools/call',
        { name: 'Pay', arguments: { input: input() } },
        { capabilities },
      );
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32021 } });
      expect(agents.payments()).toBe(0);
    },
  );

  test('if the store lost records: nobody is asked', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    let loss: string | null = null;
    const lossy = Object.create(store, { loss: { get: () => loss }, secret: { get: () => store.secret } });
    await using agents = await startAgents({ store: lossy });
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    // A store that has lost records may still contain some of them.
    const other = { input: input('1') };
    await agree(agents.url, 'Pay', other, await call(agents.url, 'Pay', other));
    loss = 'another server';
    for (const result of [await call(agents.url, 'Pay', given), await agree(agents.url, 'Pay', given, asked)])
      expect(paid(result).userErrors).toMatchObject([{ code: 'STATE_UNAVAILABLE' }]);
    expect(agents.payments()).toBe(1);
  });
});

describe('an equal payment', () => {
  test('that was made within 24 hours is named, also if it was agreed to meanwhile', async () => {
    let now = Date.now();
    await using agents = await startAgents({ now: () => now });
    const given = { input: input() };
    // The same amount, written in another way.
    const twice = { input: { ...input('12.5'), description: 'again' } };
    const [first, second] = [await call(agents.url, 'Pay', given), await call(agents.url, 'Pay', twice)];
    const { payment } = paid(await agree(agents.url, 'Pay', given, first));
    const again = await agree(agents.url, 'Pay', twice, second);
    expect(again.resultType).toBe('input_required');
    expect(questionIn(again)).toContain(
      `ATTENTION: an equal payment was made already, once, within the last 24 hours:\n`,
    );
    expect(questionIn(again)).toContain(`Track-ID ${payment.trackId}`);
    expect(agents.payments()).toBe(1);
    // A payment with another amount, payee or payer is another payment.
    expect(questionIn(await call(agents.url, 'Pay', { input: input('12.51') }))).not.toContain('ATTENTION');
    expect(
      questionIn(await call(agents.url, 'Pay', { input: input('12.50', 'carol-current') })),
    ).not.toContain('ATTENTION');
    // The person agrees to the second payment.
    expect(paid(await agree(agents.url, 'Pay', twice, again))).toMatchObject({
      replayed: false,
      payment: { state: 'DONE' },
    });
    expect(paid(await agree(agents.url, 'Pay', given, first))).toMatchObject({ replayed: true });
    expect(agents.payments()).toBe(2);
    now += 86_400_000 + 60_000;
    expect(questionIn(await call(agents.url, 'Pay', given))).not.toContain('ATTENTION');
  });

  test('that is UNKNOWN refuses a new one, and the tool that asks by its key answers it', async () => {
    await using agents = await startAgents();
    const { recorder } = agents.bank;
    const given = { input: input() };
    const [first, second] = [await call(agents.url, 'Pay', given), await call(agents.url, 'Pay', given)];
    recorder.otherwise(() => 'reset');
    const result = await agree(agents.url, 'Pay', given, first);
    expect(paid(result)).toMatchObject({
      payment: { state: 'UNKNOWN', trackId: expect.any(String) },
      userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
    });
    const [key = ''] = /[\da-f-]{36}/.exec(result.content?.[1]?.text ?? '') ?? [];
    expect(answerOf(await call(agents.url, 'Paid', { key }))).toEqual({
      data: { payment: { state: 'UNKNOWN' } },
    });
    for (const refused of [
      await call(agents.url, 'Pay', given),
      await agree(agents.url, 'Pay', given, second),
    ])
      expect(paid(refused)).toMatchObject({
        payment: null,
        userErrors: [
          {
            code: 'OUTCOME_UNKNOWN',
            message: expect.stringContaining(`idempotencyKey ${key}`),
            trackId: expect.any(String),
          },
        ],
      });
    expect(paid(await agree(agents.url, 'Pay', given, first))).toEqual(paid(result));
    expect(agents.payments()).toBe(1);
  });

  test('is the same one whichever way its bank and its currency are written', async () => {
    await using agents = await startAgents();
    const given = { input: input() };
    await agree(agents.url, 'Pay', given, await call(agents.url, 'Pay', given));
    for (const other of [
      { to: { accountId: 'bob-current', bankId: 'SNDBCY2NXXX' } },
      { to: { accountId: 'BOB-current', bankId: 'sndbcy2n' } },
      { bankId: 'SNDBCY2NXXX', to: { accountId: 'bob-current' } },
      { value: { amount: '12.500', currency: 'eur' } },
    ])
      expect(questionIn(await call(agents.url, 'Pay', { input: { ...given.input, ...other } }))).toContain(
        'ATTENTION',
      );
  });

  test('may be the one whose record is damaged: a new one is refused', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    // The values that can still be read if a record is damaged (payment-rows.ts).
    const unknown = { bankId: '', toBankId: null, currency: null, amount: null, idempotencyKey: '' };
    const search: typeof store.search = async (...asked) =>
      (await store.search(...asked)).map((each) => ({
        ...each,
        ...unknown,
        state: 'UNKNOWN',
        damaged: true,
      }));
    const damaged = Object.create(store, { search: { value: search }, secret: { get: () => store.secret } });
    await using agents = await startAgents({ store: damaged });
    const given = { input: input() };
    await agree(agents.url, 'Pay', given, await call(agents.url, 'Pay', given));
    expect(paid(await call(agents.url, 'Pay', given)).userErrors).toEqual([
      {
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringMatching(/begun at \S+ \(Track-ID /),
        trackId: expect.any(String),
      },
    ]);
    const other = { input: input('12.50', 'carol-current') };
    expect(questionIn(await call(agents.url, 'Pay', other))).toContain('carol-current');
    expect(agents.payments()).toBe(1);
  });

  test('that is in progress refuses a new one', async () => {
    await using agents = await startAgents();
    const { arrived, released } = holdBank(agents);
    const given = { input: input() };
    const asked = await call(agents.url, 'Pay', given);
    const first = agree(agents.url, 'Pay', given, asked);
    await arrived.promise;
    const refused = await call(agents.url, 'Pay', given);
    expect(paid(refused).userErrors).toMatchObject([{ code: 'IDEMPOTENCY_IN_PROGRESS' }]);
    released.resolve();
    expect(paid(await first).payment.state).toBe('DONE');
    expect(agents.payments()).toBe(1);
  });
});

test('a failure of bankql is logged, and its message is not shown', async () => {
  let hasFailed = false;
  await using agents = await startAgents({
    secret: () => {
      if (hasFailed) throw new Error('the disk of host-7');
      return '00'.repeat(32);
    },
  });
  const given = { input: input() };
  const asked = await call(agents.url, 'Pay', given);
  hasFailed = true;
  const failed = await agree(agents.url, 'Pay', given, asked);
  expect(failed.isError).toBe(true);
  expect(answerOf(failed).errors).toMatchObject([{ extensions: { code: 'INTERNAL' } }]);
  expect(JSON.stringify(failed)).not.toContain('host-7');
  const [failure = ''] = agents.log.filter((line) => line.includes('unexpected error'));
  expect(failure).toContain('host-7');
  const [, line] = logLines(agents.log.join(''), '"msg":"operation"');
  expect(line).toMatchObject({ operation: 'Pay', outcome: 'failed', codes: ['INTERNAL'] });
  expect(agents.payments()).toBe(0);
});
