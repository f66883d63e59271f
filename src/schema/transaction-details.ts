import type { TransactionBody, TransactionDetails, TransactionMetadata } from '../contract/transaction.ts';
import { builder } from './builder.ts';
import { AmountInput, amountBody, MoneyObject, mapOptional, omitNullish } from './common-types.ts';

/** The contents of a transaction, its details and metadata, and their inputs. */

export const TransactionDetailsObject = builder
  .objectRef<TransactionDetails>('TransactionDetails')
  .implement({
    description: 'What was moved, when, and by whom. REST `details` of a transaction.',
    fields: (t) => ({
      approvedByIpAddress: t.exposeString('approved_by_ip_address', {
        nullable: true,
        description: 'The IP address from which it was approved. REST `approved_by_ip_address`.',
      }),
      approvedByUserId: t.exposeString('approved_by_user_id', {
        nullable: true,
        description: 'Who approved it. REST `approved_by_user_id`.',
      }),
      cancelledByIpAddress: t.exposeString('cancelled_by_ip_address', {
        nullable: true,
        description: 'The IP address from which it was cancelled. REST `cancelled_by_ip_address`.',
      }),
      cancelledByUserId: t.exposeString('cancelled_by_user_id', {
        nullable: true,
        description: 'Who cancelled it. REST `cancelled_by_user_id`.',
      }),
      completed: t.exposeString('completed', {
        nullable: true,
        description: 'When it was completed. REST `completed`, as the bank wrote it.',
      }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'What it is for. REST `description`.',
      }),
      newBalance: t.expose('new_balance', {
        type: MoneyObject,
        nullable: true,
        description: 'What was on the account afterwards. REST `new_balance`.',
      }),
      pausedByIpAddress: t.exposeString('paused_by_ip_address', {
        nullable: true,
        description: 'The IP address from which it was paused. REST `paused_by_ip_address`.',
      }),
      pausedByUserId: t.exposeString('paused_by_user_id', {
        nullable: true,
        description: 'Who paused it. REST `paused_by_user_id`.',
      }),
      posted: t.exposeString('posted', {
        nullable: true,
        description: 'When it was posted. REST `posted`, as the bank wrote it.',
      }),
      postedByIpAddress: t.exposeString('posted_by_ip_address', {
        nullable: true,
        description: 'The IP address from which it was posted. REST `posted_by_ip_address`.',
      }),
      postedByUserId: t.exposeString('posted_by_user_id', {
        nullable: true,
        description: 'Who posted it. REST `posted_by_user_id`.',
      }),
      status: t.exposeString('status', {
        nullable: true,
        description:
          'How far it is. The specification lists no values; the sandbox has `COMPLETED`, `INITIATED` and `FAILED`. REST `status`, a free text.',
      }),
      type: t.exposeString('type', {
        nullable: true,
        description:
          'What kind of transaction it is. The specification lists no values; the sandbox has `SEPA`, `CARD`, `SALARY` and `TRANSFER`. REST `type`, a free text.',
      }),
      value: t.expose('value', {
        type: MoneyObject,
        nullable: true,
        description: 'How much was moved; negative where the account paid. REST `value`.',
      }),
    }),
  });

export const TransactionMetadataObject = builder
  .objectRef<TransactionMetadata>('TransactionMetadata')
  .implement({
    description: 'What people note about it. REST `metadata` of a transaction.',
    fields: (t) => ({
      comments: t.exposeString('comments', {
        nullable: true,
        description: 'What the customer notes about it. REST `comments`.',
      }),
      narrative: t.exposeString('narrative', {
        nullable: true,
        description: 'A longer text about it. REST `narrative`.',
      }),
      tags: t.exposeString('tags', { nullable: true, description: 'Words to find it by. REST `tags`.' }),
      where: t.exposeString('where', { nullable: true, description: 'Where it took place. REST `where`.' }),
    }),
  });

export const TransactionDetailsInput = builder.inputType('TransactionDetailsInput', {
  description:
    'What was moved, when, and by whom. REST `details` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    approvedByIpAddress: t.string({
      required: true,
      description: 'The IP address from which it was approved. REST `approved_by_ip_address`.',
    }),
    approvedByUserId: t.string({ description: 'Who approved it. REST `approved_by_user_id`.' }),
    cancelledByIpAddress: t.string({
      description: 'The IP address from which it was cancelled. REST `cancelled_by_ip_address`.',
    }),
    cancelledByUserId: t.string({ description: 'Who cancelled it. REST `cancelled_by_user_id`.' }),
    completed: t.string({ description: 'When it was completed. REST `completed`.' }),
    description: t.string({ description: 'What it is for. REST `description`.' }),
    newBalance: t.field({
      type: AmountInput,
      description: 'What was on the account afterwards. REST `new_balance`.',
    }),
    pausedByIpAddress: t.string({
      description: 'The IP address from which it was paused. REST `paused_by_ip_address`.',
    }),
    pausedByUserId: t.string({ description: 'Who paused it. REST `paused_by_user_id`.' }),
    posted: t.string({ description: 'When it was posted. REST `posted`.' }),
    postedByIpAddress: t.string({
      description: 'The IP address from which it was posted. REST `posted_by_ip_address`.',
    }),
    postedByUserId: t.string({ description: 'Who posted it. REST `posted_by_user_id`.' }),
    status: t.string({
      description:
        'How far it is. The specification lists no values; the sandbox has `COMPLETED`, `INITIATED` and `FAILED`. REST `status`.',
    }),
    type: t.string({
      description:
        'What kind of transaction it is. The specification lists no values; the sandbox has `SEPA`, `CARD`, `SALARY` and `TRANSFER`. REST `type`.',
    }),
    value: t.field({
      type: AmountInput,
      description: 'How much was moved; negative where the account paid. REST `value`.',
    }),
  }),
});

export const TransactionMetadataInput = builder.inputType('TransactionMetadataInput', {
  description: 'What people note about it. REST `metadata` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    comments: t.string({ required: true, description: 'What the customer notes about it. REST `comments`.' }),
    narrative: t.string({ description: 'A longer text about it. REST `narrative`.' }),
    tags: t.string({ description: 'Words to find it by. REST `tags`.' }),
    where: t.string({ description: 'Where it took place. REST `where`.' }),
  }),
});

export const detailsBody = (input: typeof TransactionDetailsInput.$inferInput): TransactionBody['details'] =>
  omitNullish({
    approved_by_ip_address: input.approvedByIpAddress,
    approved_by_user_id: input.approvedByUserId,
    cancelled_by_ip_address: input.cancelledByIpAddress,
    cancelled_by_user_id: input.cancelledByUserId,
    completed: input.completed,
    description: input.description,
    new_balance: mapOptional(input.newBalance, amountBody),
    paused_by_ip_address: input.pausedByIpAddress,
    paused_by_user_id: input.pausedByUserId,
    posted: input.posted,
    posted_by_ip_address: input.postedByIpAddress,
    posted_by_user_id: input.postedByUserId,
    status: input.status,
    type: input.type,
    value: mapOptional(input.value, amountBody),
  });

export const metadataBody = (input: typeof TransactionMetadataInput.$inferInput) => omitNullish({ ...input });
