import { createTraceState, type SpanContext } from '@opentelemetry/api';

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const nothing = /^0+$/;
const sampledFlag = 1;

/** The span that a request says it belongs to (W3C Trace Context); null where it says none, or nothing that is one. */
export function readTraceparent(given: unknown, traceState: unknown): SpanContext | null {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    (typeof given === 'string' ? traceparent.exec(given) : null) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (nothing.test(traceId) || nothing.test(spanId)) return null;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & sampledFlag,
    isRemote: true,
    ...(typeof traceState === 'string' ? { traceState: createTraceState(traceState) } : {}),
  };
}

export const writeTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
