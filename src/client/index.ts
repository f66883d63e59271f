export type { ErrorCode } from '../errors.ts';
export type { Document, PaymentError, PaymentErrorCode, TypedDocument } from './answer.ts';
export {
  type FetchSend,
  type FetchSendOptions,
  fetchSend,
  type GraphQLError,
  type GraphQLResponse,
} from './fetch-send.ts';
export type { KeyStorage } from './key-store.ts';
export {
  createPayments,
  type Payment,
  type PaymentDocument,
  type PaymentOutcome,
  type PaymentOutcomeState,
  type Payments,
  type PaymentsOptions,
  paymentQuery,
} from './payments.ts';
