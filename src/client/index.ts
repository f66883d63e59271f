export type { ErrorCode } from '../errors.ts';
export type { Document, PaymentError, PaymentErrorCode, TypedDocument } from './answer.ts';
export {
  type Answer,
  type FetchSend,
  type FetchSendOptions,
  fetchSend,
  type GraphQLError,
} from './fetch-send.ts';
export type { KeyStorage } from './key-store.ts';
export {
  createPayments,
  type PaymentOutcome,
  type PaymentOutcomeState,
  type PaymentQuery,
  type PaymentRecord,
  type Payments,
  type PaymentsOptions,
  paymentQuery,
} from './payments.ts';
