import { describe, expect, it } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, sentJson, startFacade } from '../support/facade.ts';
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
  it('answers every field from its own place, and null for what is left out', async () => {
    await using facade = await startFacade();
    facade.bank.on('GET /v1/api/banks/BANK/customer/messages', { body: { messages: [messageRecord, {}] } });
    const result = await facade.ask(WholeMessages);
    expect(result).toEqual({
      data: { bank: { messages: { totalCount: 2, nodes: [wholeMessage, emptyMessage] } } },
    });
    expect(facade.bank.lines()).toEqual(['GET /v1/api/banks/BANK/customer/messages']);
    expect(onlyCall(facade.bank).body).toBe('');
  });
});

describe('putCustomerMessage', () => {
  it('sends the three fields, and answers the message as the bank did', async () => {
    await using facade = await startFacade();
    facade.bank.on('PUT /v1/api/banks/BANK/customer/CUST/messages', { body: messageRecord });
    const result = await facade.ask(PutWholeMessage, { input });
    const call = onlyCall(facade.bank);
    expect(sentJson(call)).toEqual({ message: 'm', from_department: 'd', from_person: 'p' });
    expect(result).toEqual({
      data: { putCustomerMessage: { trackId: call.headers['track-id'], message: wholeMessage } },
    });
    expect(facade.bank.lines()).toEqual(['PUT /v1/api/banks/BANK/customer/CUST/messages']);
  });

  it('goes to the bank that is named', async () => {
    await using facade = await startFacade();
    facade.bank.on('PUT /v1/api/banks/B2/customer/CUST/messages', { body: {} });
    const result = await facade.ask(PutWholeMessage, { input: { ...input, bankId: 'B2' } });
    expect(facade.bank.lines()).toEqual(['PUT /v1/api/banks/B2/customer/CUST/messages']);
    expect(result.data?.putCustomerMessage?.message).toEqual(emptyMessage);
  });

  it('sends a text of any script, and of any characters, as it is', async () => {
    await using facade = await startFacade();
    facade.bank.on('PUT /v1/api/banks/BANK/customer/CUST/messages', { body: messageRecord });
    const message = 'Γειά "σου"\n\\ \u0000 日本 مرحبا 👋🏽 {"amount": 1e3}';
    await facade.ask(PutWholeMessage, { input: { ...input, message } });
    expect(sentJson(onlyCall(facade.bank))).toMatchObject({ message });
  });
});
