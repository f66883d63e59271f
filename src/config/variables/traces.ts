import { samplers } from '../../telemetry/tracing-options.ts';
import { collectorAddress } from '../address-formats.ts';
import { collectorHeaders, flag, oneOf, optional, share, text } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Where traces go. The names are OpenTelemetry's. */
export const tracesVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...optional(collectorAddress, 'none: no traces'),
    description:
      "the collector's address; it accepts OTLP over HTTP in JSON at `/v1/traces` (usually port 4318)",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    rarely: 'the collector wants a key',
    ...optional(collectorHeaders),
    isSecret: true,
    description: 'headers for the collector, such as `api-key=secret`, separated by commas',
  },
  OTEL_SERVICE_NAME: {
    rarely: 'several deployments send traces to one collector',
    ...text('bankql'),
    description: 'the service name in traces',
  },
  OTEL_TRACES_SAMPLER: {
    rarely: 'too many traces are recorded',
    ...oneOf(samplers, 'parentbased_always_on'),
    description:
      'which traces are recorded; `parentbased_…` follows the decision in the `traceparent` of the caller',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    rarely: 'too many traces are recorded',
    ...share(1),
    description: 'the share of traces that `traceidratio` and `parentbased_traceidratio` record',
  },
  BANK_TRACEPARENT: {
    rarely: 'the bank reads traces',
    ...flag(false),
    description: 'send the header `traceparent` to the bank',
  },
} as const satisfies Record<string, Variable>;
