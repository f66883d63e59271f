import { expect, test } from 'vitest';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { messageRecord } from '../support/full-records.ts';

test('putCustomerMessage sends any characters to the bank that is named, and shows the message as it answers', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.on('PUT /v1/api/banks/B2/customer/CUST/messages', { body: messageRecord });
  const message = 'Γειά "σου"\n\\ \u0000 日本 مرحبا 👋🏽 {"amount": 1e3}';
  const result = await fixture.ask(
    `mutation ($input: PutCustomerMessageInput!) {
      putCustomerMessage(input: $input) { trackId message { message fromDepartment fromPerson date } }
    }`,
    { input: { bankId: 'B2', customerId: 'CUST', message, fromDepartment: 'd', fromPerson: 'p' } },
  );
  const call = onlyCall(fixture.bank);
  expect(sentJson(call)).toEqual({ message, from_department: 'd', from_person: 'p' });
  const shown = {
    message: 'message',
    fromDepartment: 'from-department',
    fromPerson: 'from-person',
    date: 'date',
  };
  expect(result).toEqual({
    data: { putCustomerMessage: { trackId: call.headers['track-id'], message: shown } },
  });
});
