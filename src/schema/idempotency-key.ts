import { badUserInput } from '../errors.ts';
import { validateIdempotencyKey } from '../payments/payment-errors.ts';
import type { Context } from './context.ts';

export const idempotencyKeyDescription =
  'Up to 255 printable ASCII characters, chosen by the client, one for each intended payment.';

export const inputKeyDescription = `${idempotencyKeyDescription} If left out, the key of the request header Idempotency-Key.`;

interface PaymentInput {
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * The key of a payment: that of its input, or else that of the request's header.
 * Errors: BAD_USER_INPUT if there is no key, or if the input and the header differ.
 */
export function idempotencyKeyOf(
  { idempotencyKey }: PaymentInput,
  { idempotencyKeyHeader }: Pick<Context, 'idempotencyKeyHeader'>,
): string {
  const [header, another] = idempotencyKeyHeader.filter((value) => value !== '').map(unquoted);
  if (another !== undefined) throw badUserInput('Send the header Idempotency-Key once.');
  const key = idempotencyKey ?? header;
  if (key === undefined)
    throw badUserInput(
      'A payment needs an idempotency key, a new one for each intended payment: give it as idempotencyKey in the input, or as the header Idempotency-Key.',
      'idempotencyKey',
    );
  if (header !== undefined && header !== key)
    throw badUserInput(
      'The idempotencyKey of the input and the header Idempotency-Key differ: give one of them, or the same key in both.',
      'idempotencyKey',
    );
  return key;
}

/** A header's value, which may be a quoted string, as the draft of the header's specification has it. */
function unquoted(value: string): string {
  const [, quoted] = /^"(.*)"$/.exec(value) ?? [];
  return quoted === undefined ? value : quoted.replaceAll(/\\(["\\])/g, '$1');
}

/** For plans, which do not know the header. Errors: BAD_USER_INPUT for an invalid key in the input. */
export function checkInputKey({ idempotencyKey }: PaymentInput): void {
  if (idempotencyKey !== undefined && idempotencyKey !== null) validateIdempotencyKey(idempotencyKey);
}
