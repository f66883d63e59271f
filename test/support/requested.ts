/**
 * A bank's answer to a request for a transaction, with an entry that repeats the payee and the value. `body`: the body of the
 * request.
 */
export function requested(
  { body }: { readonly body: string },
  entry: Readonly<Record<string, unknown>> = { status: 'INITIATED' },
) {
  const { to, value } = JSON.parse(body);
  return { 'transaction-requests': [{ ...entry, body: { to, value } }] };
}
