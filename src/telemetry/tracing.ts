import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { TraceCall } from '../bank/report.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import { currentActivity } from '../http/request-scope.ts';
import { version } from '../version.ts';

/** The destination of traces. */
export interface TracingOptions {
  /** The address to which spans are sent, without `/v1/traces`. */
  readonly endpoint: string;
  /**
   * The variables OTEL_… by name. bankql reads the sampler, the headers and the service's name; OpenTelemetry reads the others itself,
   * from the environment of the process.
   */
  readonly openTelemetry: Readonly<Record<string, string | undefined>>;
}

type Variables = TracingOptions['openTelemetry'];

export type Tracing = ReturnType<typeof startTracing>;

const propagator = new W3CTraceContextPropagator();

/**
 * The maximum length of a trace header, in characters. Longer headers are ignored, because waiting spans keep them in memory. W3C
 * asks for 512 characters of tracestate.
 */
const maxTraceHeader = 512;

const traceHeaders: TextMapGetter<IncomingHttpHeaders> = {
  keys: Object.keys,
  get(headers, name) {
    const value = headers[name];
    return value !== undefined && value.length <= maxTraceHeader ? value : undefined;
  },
};

/**
 * Sends traces: a span for each request for GraphQL, and below it one for each attempt of a REST call. This module is loaded only
 * if traces are configured. `bankUrl` is the bank's address; spans contain only its origin.
 */
export function startTracing({ endpoint, openTelemetry }: TracingOptions, bankUrl: string, logger: Logger) {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': openTelemetry.OTEL_SERVICE_NAME || 'bankql',
      'service.version': version,
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(openTelemetry),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: createSpanExporter(endpoint, headersOf(openTelemetry), logger) }),
    ],
  });
  const tracer = provider.getTracer('bankql', version);
  const bank = new URL(bankUrl);
  const bankPort = Number(bank.port || (bank.protocol === 'https:' ? 443 : 80));
  const spans = new WeakMap<OperationActivity, Span>();

  return {
    begin(activity: OperationActivity, headers: IncomingHttpHeaders, method = 'POST'): void {
      const context = propagator.extract(ROOT_CONTEXT, headers, traceHeaders);
      const attributes = {
        'http.request.method': method,
        'http.route': '/graphql',
        'url.path': '/graphql',
        // The scheme is always `http`, because a proxy in front of bankql terminates TLS.
        'url.scheme': 'http',
        'bankql.request_id': activity.requestId,
      };
      const span = tracer.startSpan('GraphQL Operation', { kind: SpanKind.SERVER, attributes }, context);
      spans.set(activity, span);
      activity.traceId = span.spanContext().traceId;
    },

    end(activity: OperationActivity): void {
      const span = spans.get(activity);
      if (span === undefined) return;
      const { operation, app, status, outcome, codes } = activity;
      if (operation !== null) {
        span.updateName(operation.kind);
        span.setAttribute('bankql.app', app);
        span.setAttribute('graphql.operation.type', operation.kind);
        if (operation.name !== null) span.setAttribute('graphql.operation.name', operation.name);
      }
      if (status !== null) span.setAttribute('http.response.status_code', status);
      span.setAttribute('bankql.outcome', outcome);
      const [code] = codes;
      if (code !== undefined) {
        span.setAttribute('error.type', code);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },

    traceCall: (({ operation, trackId }, resendCount) => {
      const activity = currentActivity();
      const parent = activity === null ? undefined : spans.get(activity);
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
      const callId = trackId ?? randomUUID();
      const attributes = {
        'http.request.method': operation.method,
        'url.template': operation.path,
        // The path of the specification without ids, because ids are private.
        'url.full': bank.origin + operation.path,
        'server.address': bank.hostname,
        'server.port': bankPort,
        'bankql.rest_operation': operation.id,
        'bankql.call_id': callId,
        ...(trackId === null ? {} : { 'bankql.track_id': trackId }),
        ...(resendCount === 0 ? {} : { 'http.request.resend_count': resendCount }),
      };
      const name = `${operation.method} ${operation.path}`;
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context);
      return {
        callId,
        end({ status, reason }) {
          if (status !== null) span.setAttribute('http.response.status_code', status);
          if (status === null || status >= 400) {
            span.setAttribute('error.type', String(status ?? reason));
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    }) satisfies TraceCall,

    /** Sends the remaining spans, and ends. Never rejects. */
    shutdown: () => provider.shutdown().catch(() => {}),
  };
}

/** The sampler that OTEL_TRACES_SAMPLER names, which this SDK does not read. An unknown name means the default. */
function samplerOf({ OTEL_TRACES_SAMPLER = '', OTEL_TRACES_SAMPLER_ARG = '1' }: Variables): Sampler {
  const share = Number(OTEL_TRACES_SAMPLER_ARG.trim() || '1');
  const roots = new Map<string, Sampler>([
    ['always_on', new AlwaysOnSampler()],
    ['always_off', new AlwaysOffSampler()],
    ['traceidratio', new TraceIdRatioBasedSampler(share >= 0 && share <= 1 ? share : 1)],
  ]);
  const name = OTEL_TRACES_SAMPLER.trim().toLowerCase();
  const root = roots.get(name.replace('parentbased_', '')) ?? new AlwaysOnSampler();
  return roots.has(name) ? root : new ParentBasedSampler({ root });
}

/**
 * The headers for the collector. They are read here, because a mounted bankql has its own variables and OpenTelemetry reads only
 * the process's.
 */
function headersOf({ OTEL_EXPORTER_OTLP_HEADERS = '' }: Variables): Record<string, string> {
  const pairs = OTEL_EXPORTER_OTLP_HEADERS.split(',').map((pair) => /^([^=;]+)=([^;]+)/.exec(pair) ?? []);
  return Object.fromEntries(
    pairs.flatMap(([, name = '', value = '']) => {
      try {
        return name.trim() && value.trim() ? [[name.trim(), decodeURIComponent(value.trim())]] : [];
      } catch {
        // As in OpenTelemetry, a pair that cannot be decoded is left out.
        return [];
      }
    }),
  );
}

/**
 * The deadline for sending a batch, in milliseconds. A stopping process waits no longer than this for an unavailable collector.
 */
const timeoutMs = 5000;

/**
 * Sends spans as OTLP over HTTP, in JSON. The log has one line when the collector becomes unavailable, and one when it answers
 * again.
 */
function createSpanExporter(endpoint: string, headers: Record<string, string>, logger: Logger): SpanExporter {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: timeoutMs });
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
