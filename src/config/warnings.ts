import { parseStoreUrl } from '../payments/store/store-address.ts';
import type { Config } from './config.ts';
import type { Environment } from './environment.ts';

/** Warnings about settings that are valid, but risky or without effect. `bankql check` prints them, and the start logs them. */
export function warningsOf(
  { bank, bankLimits, identity, paymentWords, state }: Config,
  environment: Environment,
) {
  const { receiptPath, statusPath } = paymentWords;
  const warnings: string[] = [];
  if (bank !== null && parseStoreUrl(state.url).kind === 'memory')
    warnings.push(
      'STATE_URL=memory: payments are forgotten at a restart, and a payment that is requested again is then sent again',
    );
  if (receiptPath !== undefined && statusPath === undefined)
    warnings.push(
      'BANK_PAYMENT_RECEIPT without BANK_PAYMENT_STATUS: an id alone makes a payment DONE; name the place of its status too, if the answer has one',
    );
  if (identity?.paymentScope === null)
    warnings.push(
      'IDENTITY=jwt without IDENTITY_PAYMENT_SCOPE: each token that can read can also pay; name the word of the scope that payments need',
    );
  const hasOtherProxy = Boolean(environment.HTTPS_PROXY || environment.https_proxy);
  if (hasOtherProxy && bank?.baseUrl.startsWith('https:') && bankLimits.network.proxyUrl === null)
    warnings.push('HTTPS_PROXY: bankql does not use it, and reaches the bank directly');
  return warnings;
}
