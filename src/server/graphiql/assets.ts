import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Encoding, negotiateEncoding } from '../response.ts';

/** A file of GraphiQL's page. */
interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

/** What GraphiQL's page loads. */
export interface Assets {
  /** Names the contents of all of them: under it nothing ever changes. */
  readonly hash: string;
  /** The file in the encoding that a client accepts, by its `Accept-Encoding`; null if there is no file of that name. */
  response(name: string, accepted: string): Promise<Response> | null;
}

/** bankql's part of the page: a browser runs these files as they are. */
const ownFiles = [
  'main.js',
  'fetcher.js',
  'calls-panel.js',
  'storage.js',
  'page.css',
  'favicon.svg',
] as const;

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * Yoga gives GraphiQL a plugin of its own, and GraphiQL has its history only if it is given no plugins: this gives it
 * both. Only the bundle knows the history's name.
 */
export const historyDefault = /\b(\w+)===void 0\?\[([A-Za-z_$][\w$]*)\]:\1/;
const withHistory = (bundle: string) => bundle.replace(historyDefault, '$1===void 0?[$2]:[$2,...$1]');

/** Loads and hashes the files. They take 40 MB, and time: it is done once, when somebody asks for the page. */
export async function loadAssets(): Promise<Assets> {
  const bundle = await import('@graphql-yoga/render-graphiql/graphiql');
  const own = await Promise.all(
    ownFiles.map(
      async (name) => [name, await readFile(new URL(`browser/${name}`, import.meta.url))] as const,
    ),
  );
  const texts = {
    'graphiql.js': withHistory(bundle.js),
    'graphiql.css': bundle.css,
    'editor.worker.js': bundle.editorWorkerService,
    'json.worker.js': bundle.jsonWorker,
    'graphql.worker.js': bundle.graphqlWorker,
  };
  const files = [...own, ...Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const)];
  const hash = createHash('sha256');
  for (const [name, body] of files) hash.update(`${name} ${body.length}\n`).update(body);
  const assets = new Map<string, Asset>(
    files.map(([name, body]) => [name, { type: types[name.split('.').at(-1) ?? ''] ?? '', body }]),
  );
  return { hash: hash.digest('hex').slice(0, 16), response: createResponder(assets) };
}

const compress: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  // A quarter of a second for all of it; the highest quality saves a tenth more and takes half a minute.
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => promisify(gzip)(body),
};

function createResponder(assets: ReadonlyMap<string, Asset>): Assets['response'] {
  /** A file that was asked for is compressed once. */
  const compressed = new Map<string, Promise<Buffer>>();
  const bodyOf = (name: string, { body }: Asset, encoding: Encoding | null): Promise<Buffer> | Buffer => {
    if (encoding === null) return body;
    const key = `${encoding} ${name}`;
    const done = compressed.get(key) ?? compress[encoding](body);
    compressed.set(key, done);
    return done;
  };
  const respond = async (name: string, asset: Asset, accepted: string): Promise<Response> => {
    const encoding = negotiateEncoding(accepted);
    const body = await bodyOf(name, asset, encoding);
    return new Response(streamOf(body), {
      headers: {
        'Content-Type': asset.type,
        'Content-Length': String(body.length),
        'Cache-Control': 'public, max-age=31536000, immutable',
        Vary: 'Accept-Encoding',
        ...(encoding === null ? {} : { 'Content-Encoding': encoding }),
      },
    });
  };
  return (name, accepted) => {
    const asset = assets.get(name);
    return asset === undefined ? null : respond(name, asset, accepted);
  };
}

const pieceBytes = 64 * 1024;

/** In pieces, so that a client which does not read holds one of them, not all. */
function streamOf(body: Buffer): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(body.subarray(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
}
