import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { BoundedResult } from '../engine/bounded-result.ts';
import type { GraphQLHttpResponse } from './http-response.ts';

/** Which answers are compressed: all, those of public data alone, or none. SECURITY.md says why they are told apart. */
export const compressions = ['on', 'public', 'off'] as const;
export type Compression = (typeof compressions)[number];

/** A shorter one takes one packet either way, in bytes. */
const shortest = 1024;

export type Encoding = 'br' | 'gzip';

const compress: Readonly<Record<Encoding, (body: string | Buffer) => Promise<Buffer>>> = (() => {
  const brotli = promisify(brotliCompress);
  const zip = promisify(gzip);
  // The highest quality, which is the default, takes a hundred times as long.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 4 };
  return { br: (body) => brotli(body, { params }), gzip: (body) => zip(body) };
})();

/** The best encoding that a client takes, by its `Accept-Encoding`; null where it takes none. */
export function negotiateEncoding(accepted: string | undefined): Encoding | null {
  if (accepted === undefined) return null;
  const taken = new Map<string, boolean>();
  for (const each of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim());
    taken.set(name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)));
  }
  const takes = (name: Encoding) => taken.get(name) ?? taken.get('*') ?? false;
  if (takes('br')) return 'br';
  return takes('gzip') ? 'gzip' : null;
}

/** Whether an answer is one that may be compressed, whatever its client takes. */
export function isCompressible({ body, result }: GraphQLHttpResponse, compression: Compression): boolean {
  // A character is a byte at least.
  if (compression === 'off' || body.length < shortest) return false;
  return compression === 'on' || (result instanceof BoundedResult && result.isPublic);
}

/** The answer, compressed where its client takes that. Null: as it is, at once. */
export function compressed(
  answer: GraphQLHttpResponse,
  accepted: string | undefined,
): Promise<GraphQLHttpResponse> | null {
  const encoding = negotiateEncoding(accepted);
  if (encoding === null) return null;
  return compress[encoding](answer.body).then((body) => ({
    ...answer,
    body: body as Buffer<ArrayBuffer>,
    headers: [...answer.headers, 'Content-Encoding', encoding],
  }));
}
