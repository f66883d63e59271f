import { bankId } from './identity.ts';

/**
 * A transaction request's `resource_url`. No operation reads a single one: the link leads to the account's
 * list, and says which of them it is.
 */
export function requestUrl(accountId: string, requestId: string): string {
  return `/v1/api/banks/${bankId}/accounts/${encodeURIComponent(accountId)}/owner/transaction-requests#${requestId}`;
}
