/** A bank's answer to a request for a transaction, whose entry repeats the payee and the value. `body`: that of the request. */
export function requested(
  { body }: { readonly body: string },
  entry: Readonly<Record<string, unknown>> = { status: 'INITIATED' },
) {
  const { to, value } = JSON.parse(body);
  return { 'transaction-requests': [{ ...entry, body: { to, value } }] };
}
