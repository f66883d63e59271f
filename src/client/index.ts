export type { ErrorCode } from '../errors.ts';
export { type Answer, BankqlClientError, type ClientError, type ClientErrorCode, dataOf } from './answer.ts';
export { type Client, type ClientOptions, createClient, type RequestOptions } from './client.ts';
export type { Document, Print, TypedDocument } from './document.ts';
export {
  type PaymentOutcome,
  type PaymentOutcomeState,
  type PaymentQuery,
  type PaymentRecord,
  paymentQuery,
} from './payment-outcome.ts';
export { createPayments, type KeyStorage, type Payments, type PaymentsOptions } from './payments.ts';
