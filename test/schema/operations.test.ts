import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { credentials } from '../support/bankql.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { sampleCalls } from '../support/sample-calls.ts';

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const key = { 'Ocp-Apim-Subscription-Key': credentials['Ocp-Apim-Subscription-Key'] };

describe.each(Object.values(operations))('$id', ({ id, tracked, auth }) => {
  const { document, line, sent, reply } = sampleCalls[id];

  test('is one call, with the headers that the specification gives it and every digit of its body', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: reply });
    const result = await fixture.ask(document);
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([line]);
    const call = onlyCall(fixture.bank);
    const { headers, body } = call;
    expect(headers['ocp-apim-subscription-key']).toBe('the-subscription-key');
    expect(headers['auth-provider-name']).toBe(auth === 'none' ? undefined : 'the-provider');
    expect(headers['auth-id']).toBe(auth === 'none' ? undefined : 'the-caller');
    expect(headers['track-id']).toEqual(tracked ? expect.stringMatching(version4) : undefined);
    expect(headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    if (sent === '') expect(body).toBe('');
    else expect(sentJson(call)).toEqual(sentJson({ ...call, body: sent }));
  });

  test('needs the auth headers only where they are required', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: reply });
    const result = await fixture.ask(document, {}, key);
    expect(fixture.bank.calls).toHaveLength(auth === 'required' ? 0 : 1);
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(
      auth === 'required' ? ['MISSING_CREDENTIALS'] : undefined,
    );
    expect(fixture.bank.calls[0]?.headers['auth-id']).toBeUndefined();
  });

  test('is not called without a subscription key', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: reply });
    const result = await fixture.ask(document, {}, { 'Auth-Provider-Name': 'p', 'Auth-ID': 'i' });
    expect(fixture.bank.calls).toEqual([]);
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['MISSING_CREDENTIALS']);
  });
});
