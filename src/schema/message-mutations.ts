import { validateId } from '../bank/ids.ts';
import { message, putCustomerMessage } from '../contract/message.ts';
import { builder } from './builder.ts';
import { bankIdDescription, bankIdOr } from './context.ts';
import { Message } from './message.ts';
import { toBody } from './request-body.ts';
import { calls } from './rest-extensions.ts';

builder.relayMutationField(
  'putCustomerMessage',
  {
    description: 'The message to put, and to whom.',
    inputFields: (t) => ({
      bankId: t.id({ description: bankIdDescription }),
      customerId: t.id({ required: true, description: 'The id at the bank of the customer who gets it.' }),
      ...t.bankFields(message),
    }),
  },
  {
    description: 'Leaves a message for a customer.',
    extensions: calls(putCustomerMessage),
    resolve: async (_root, { input }, { bankql: { session, defaults } }) => {
      const ids = {
        bankId: bankIdOr(defaults, input.bankId),
        customerId: validateId('customerId', input.customerId, 'customerId'),
      };
      const { answer, trackId } = await session.write(putCustomerMessage, ids, toBody(message, input));
      return { bankId: ids.bankId, record: answer, trackId };
    },
  },
  {
    description: 'The message that was left, if the bank shows it.',
    outputFields: (t) => ({
      message: t.link(Message, {
        description: 'The message; null if the bank answered without it.',
        extensions: calls(),
        fromRecord: true,
        ids: ({ record }) => record && { messageId: null, record },
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The write's Track-ID." }),
    }),
  },
);
