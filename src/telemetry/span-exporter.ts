import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { TracingOptions } from './tracing-options.ts';

/** How long a batch may take, in milliseconds: at the stop, nobody waits longer for a collector that is away. */
const timeoutMs = 5000;

/** Sends spans as OTLP over HTTP, in JSON. A collector that is away is one line of the log, and one more when it is back. */
export function createSpanExporter(
  { endpoint, headers }: Pick<TracingOptions, 'endpoint' | 'headers'>,
  logger: Logger,
): SpanExporter {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: timeoutMs });
  let isAway = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.error !== undefined;
        if (hasFailed && !isAway) logger.warn({ err: result.error }, 'traces cannot be sent: spans are lost');
        if (!hasFailed && isAway) logger.info('traces are sent again');
        isAway = hasFailed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}
