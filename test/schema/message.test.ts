import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { messageRecord } from '../support/full-records.ts';

const WholeMessages = graphql(`
  query WholeMessages {
    bank { messages { totalCount nodes { message fromDepartment fromPerson date } } }
  }
`);

const PutWholeMessage = graphql(`
  mutation PutWholeMessage($input: PutCustomerMessageInput!) {
    putCustomerMessage(input: $input) { trackId message { message fromDepartment fromPerson date } }
  }
`);

const wholeMessage = {
  message: 'message',
  fromDepartment: 'from-department',
  fromPerson: 'from-person',
  date: 'date',
};
const emptyMessage = { message: null, fromDepartment: null, fromPerson: null, date: null };
const input = { customerId: 'CUST', message: 'm', fromDepartment: 'd', fromPerson: 'p' };

describe('getMessagesOwner', () => {
  test('answers every field from its own place, and null for what is left out', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/customer/messages', { body: { messages: [messageRecord, {}] } });
    const result = await fixture.ask(WholeMessages);
    expect(result).toEqual({
      data: { bank: { messages: { totalCount: 2, nodes: [wholeMessage, emptyMessage] } } },
    });
    expect(fixture.bank.lines()).toEqual(['GET /v1/api/banks/BANK/customer/messages']);
    expect(onlyCall(fixture.bank).body).toBe('');
  });
});

describe('putCustomerMessage', () => {
  test('sends the three fields, and answers the message as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/BANK/customer/CUST/messages', { body: messageRecord });
    const result = await fixture.ask(PutWholeMessage, { input });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual({ message: 'm', from_department: 'd', from_person: 'p' });
    expect(result).toEqual({
      data: { putCustomerMessage: { trackId: call.headers['track-id'], message: wholeMessage } },
    });
    expect(fixture.bank.lines()).toEqual(['PUT /v1/api/banks/BANK/customer/CUST/messages']);
  });

  test('goes to the bank that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/B2/customer/CUST/messages', { body: {} });
    const result = await fixture.ask(PutWholeMessage, { input: { ...input, bankId: 'B2' } });
    expect(fixture.bank.lines()).toEqual(['PUT /v1/api/banks/B2/customer/CUST/messages']);
    expect(result.data?.putCustomerMessage?.message).toEqual(emptyMessage);
  });

  test('sends a text of any script, and of any characters, as it is', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/BANK/customer/CUST/messages', { body: messageRecord });
    const message = 'Γειά "σου"\n\\ \u0000 日本 مرحبا 👋🏽 {"amount": 1e3}';
    await fixture.ask(PutWholeMessage, { input: { ...input, message } });
    expect(sentJson(onlyCall(fixture.bank))).toMatchObject({ message });
  });
});
