import { samplers } from '../../telemetry/tracing-options.ts';
import { collectorAddress } from '../address-formats.ts';
import { collectorHeaders, flag, oneOf, optional, share, text } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Where traces go. The names are OpenTelemetry's. */
export const tracesVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...optional(collectorAddress, 'none: no traces'),
    description:
      "the collector's address, which takes OTLP over HTTP in JSON at `/v1/traces` below it (mostly port 4318)",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...optional(collectorHeaders),
    isSecret: true,
    description: 'what is sent to it along with each batch, such as `api-key=secret`, several with commas',
  },
  OTEL_SERVICE_NAME: { ...text('bankql'), description: 'the name under which it stands in traces' },
  OTEL_TRACES_SAMPLER: {
    ...oneOf(samplers, 'parentbased_always_on'),
    description:
      'which traces are recorded; `parentbased_`: as the caller decided where `traceparent` says it',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    ...share(1),
    description: 'the share of traces that `traceidratio` and `parentbased_traceidratio` record',
  },
  BANK_TRACEPARENT: {
    ...flag(false),
    description: 'send the bank the header `traceparent`, the one beside the credentials and the Track-ID',
  },
} as const satisfies Record<string, Variable>;
