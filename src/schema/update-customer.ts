import { putCustomerID } from '../contract/customer.ts';
import { inCustomer } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { type KeyValueInput, keyValueBody, mapChange } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { customerFields, customerVersion } from './customer.ts';
import { restId } from './global-id.ts';
import { restIds } from './input-names.ts';
import { CustomerObject, customerNode } from './node-lookups/customer.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';

const CustomerChanges = builder.inputType('CustomerChanges', {
  description:
    'Changes of a customer: what is left out keeps its value, null clears it. Lists are replaced whole.',
  fields: customerFields,
});

const keyValues = (values: (typeof KeyValueInput.$inferInput)[]) => values.map(keyValueBody);

const customerChanges = (changes: typeof CustomerChanges.$inferInput) => ({
  bank_id: restIds('bankIds', changes.bankIds),
  customer_number: changes.customerNumber,
  legal_name: changes.legalName,
  email: changes.email,
  mobile_phone_number: changes.mobilePhoneNumber,
  face_image: changes.faceImage,
  date_values: mapChange(changes.dateValues, keyValues),
  numeric_values: mapChange(changes.numericValues, keyValues),
  string_values: mapChange(changes.stringValues, keyValues),
});

const UpdateCustomerInput = builder.inputType('UpdateCustomerInput', {
  description: 'The customer to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    customerId: t.id({ required: true, description: 'The customer.' }),
    changes: t.field({ type: CustomerChanges, required: true, description: updateDescriptions.changes }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

const UpdateCustomerPayload = updatePayload('UpdateCustomerPayload', {
  field: 'customer',
  nodeType: () => customerNode,
  type: CustomerObject,
});

builder.mutationField('updateCustomer', (t) =>
  t.field({
    type: UpdateCustomerPayload,
    nullable: true,
    description: 'Changes a customer and keeps what is not named. REST: getCustomer, then putCustomerID.',
    args: {
      input: t.arg({ type: UpdateCustomerInput, required: true, description: 'What to change, and how.' }),
    },
    ...updateField(
      {
        operation: putCustomerID,
        payload: 'UpdateCustomerPayload',
        nodeType: () => customerNode,
        versionOf: customerVersion,
      },
      ({ input }: { input: typeof UpdateCustomerInput.$inferInput }, defaults) => {
        const node = {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        };
        const changes = customerChanges(input.changes);
        return {
          node,
          ids: inCustomer(node),
          record: [node.bankId, node.customerId],
          ifVersion: input.ifVersion,
          changes: () => changes,
        };
      },
    ),
  }),
);
