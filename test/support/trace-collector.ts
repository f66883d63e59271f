import { createServer } from 'node:http';
import { z } from 'zod';
import { closeNow, listenOnLoopback } from './loopback.ts';

const value = z.looseObject({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() });
const attributes = z.array(z.object({ key: z.string(), value }));
const Batch = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              attributes: attributes.default([]),
              status: z.looseObject({ code: z.number().optional() }).optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly hasFailed: boolean;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Takes OTLP over HTTP in JSON. */
export interface TraceCollector extends AsyncDisposable {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** All that arrived, as it came: paths, headers and bodies. */
  readonly received: () => string;
}

const valuesOf = (pairs: z.infer<typeof attributes>) =>
  Object.fromEntries(
    pairs.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? intValue]),
  );

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  let received = '';
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    received += `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}\n`;
    for (const { resource, scopeSpans } of Batch.parse(JSON.parse(body)).resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          ...span,
          parentSpanId: span.parentSpanId,
          hasFailed: span.status?.code === 2,
          service: String(valuesOf(resource.attributes)['service.name']),
          attributes: valuesOf(span.attributes),
        });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    received: () => received,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
}
