export type { ErrorCode } from '../errors.ts';
export {
  type Answer,
  BankqlClientError,
  type Client,
  type ClientError,
  type ClientErrorCode,
  type ClientOptions,
  createClient,
  type Document,
  dataOf,
  type Print,
  type RequestOptions,
  type TypedDocument,
} from './graphql-client.ts';
export {
  createPayments,
  type KeyStorage,
  type PaymentOutcome,
  type PaymentOutcomeState,
  type PaymentQuery,
  type PaymentRecord,
  type Payments,
  type PaymentsOptions,
  paymentQuery,
} from './payments.ts';
