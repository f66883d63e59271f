import type { TransactionBody, TransactionDetails, TransactionMetadata } from '../contract/transaction.ts';
import { builder } from './builder.ts';
import { AmountInput, amountBody, MoneyObject, mapOptional, omitNullish } from './common-types.ts';

/** What a transaction holds: its details and its metadata, and their inputs. */

export const TransactionDetailsObject = builder
  .objectRef<TransactionDetails>('TransactionDetails')
  .implement({
    description: 'REST `details` of a transaction.',
    fields: (t) => ({
      approvedByIpAddress: t.exposeString('approved_by_ip_address', {
        nullable: true,
        description: 'REST `approved_by_ip_address`.',
      }),
      approvedByUserId: t.exposeString('approved_by_user_id', {
        nullable: true,
        description: 'REST `approved_by_user_id`.',
      }),
      cancelledByIpAddress: t.exposeString('cancelled_by_ip_address', {
        nullable: true,
        description: 'REST `cancelled_by_ip_address`.',
      }),
      cancelledByUserId: t.exposeString('cancelled_by_user_id', {
        nullable: true,
        description: 'REST `cancelled_by_user_id`.',
      }),
      completed: t.exposeString('completed', {
        nullable: true,
        description: 'REST `completed`, as the bank wrote it.',
      }),
      description: t.exposeString('description', { nullable: true, description: 'REST `description`.' }),
      newBalance: t.expose('new_balance', {
        type: MoneyObject,
        nullable: true,
        description: 'REST `new_balance`.',
      }),
      pausedByIpAddress: t.exposeString('paused_by_ip_address', {
        nullable: true,
        description: 'REST `paused_by_ip_address`.',
      }),
      pausedByUserId: t.exposeString('paused_by_user_id', {
        nullable: true,
        description: 'REST `paused_by_user_id`.',
      }),
      posted: t.exposeString('posted', {
        nullable: true,
        description: 'REST `posted`, as the bank wrote it.',
      }),
      postedByIpAddress: t.exposeString('posted_by_ip_address', {
        nullable: true,
        description: 'REST `posted_by_ip_address`.',
      }),
      postedByUserId: t.exposeString('posted_by_user_id', {
        nullable: true,
        description: 'REST `posted_by_user_id`.',
      }),
      status: t.exposeString('status', { nullable: true, description: 'REST `status`, a free text.' }),
      type: t.exposeString('type', { nullable: true, description: 'REST `type`, a free text.' }),
      value: t.expose('value', { type: MoneyObject, nullable: true, description: 'REST `value`.' }),
    }),
  });

export const TransactionMetadataObject = builder
  .objectRef<TransactionMetadata>('TransactionMetadata')
  .implement({
    description: 'REST `metadata` of a transaction.',
    fields: (t) => ({
      comments: t.exposeString('comments', { nullable: true, description: 'REST `comments`.' }),
      narrative: t.exposeString('narrative', { nullable: true, description: 'REST `narrative`.' }),
      tags: t.exposeString('tags', { nullable: true, description: 'REST `tags`.' }),
      where: t.exposeString('where', { nullable: true, description: 'REST `where`.' }),
    }),
  });

export const TransactionDetailsInput = builder.inputType('TransactionDetailsInput', {
  description: 'REST `details` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    approvedByIpAddress: t.string({ required: true, description: 'REST `approved_by_ip_address`.' }),
    approvedByUserId: t.string({ description: 'REST `approved_by_user_id`.' }),
    cancelledByIpAddress: t.string({ description: 'REST `cancelled_by_ip_address`.' }),
    cancelledByUserId: t.string({ description: 'REST `cancelled_by_user_id`.' }),
    completed: t.string({ description: 'REST `completed`.' }),
    description: t.string({ description: 'REST `description`.' }),
    newBalance: t.field({ type: AmountInput, description: 'REST `new_balance`.' }),
    pausedByIpAddress: t.string({ description: 'REST `paused_by_ip_address`.' }),
    pausedByUserId: t.string({ description: 'REST `paused_by_user_id`.' }),
    posted: t.string({ description: 'REST `posted`.' }),
    postedByIpAddress: t.string({ description: 'REST `posted_by_ip_address`.' }),
    postedByUserId: t.string({ description: 'REST `posted_by_user_id`.' }),
    status: t.string({ description: 'REST `status`.' }),
    type: t.string({ description: 'REST `type`.' }),
    value: t.field({ type: AmountInput, description: 'REST `value`.' }),
  }),
});

export const TransactionMetadataInput = builder.inputType('TransactionMetadataInput', {
  description: 'REST `metadata` of a transaction. What is left out is not sent.',
  fields: (t) => ({
    comments: t.string({ required: true, description: 'REST `comments`.' }),
    narrative: t.string({ description: 'REST `narrative`.' }),
    tags: t.string({ description: 'REST `tags`.' }),
    where: t.string({ description: 'REST `where`.' }),
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
