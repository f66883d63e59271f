/** Choices of an operator, which the configuration reads without loading what uses them. */

/** The operations whose names metrics show: all, those of persisted documents, or none. */
export const operationNameModes = ['all', 'persisted', 'none'] as const;
export type OperationNameMode = (typeof operationNameModes)[number];

/** Which traces are recorded, by the names of OpenTelemetry's specification. */
export const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

export interface TracingOptions {
  /** Where spans are sent, without `/v1/traces`. */
  readonly endpoint: string;
  /** What goes along, such as a key of the collector's. */
  readonly headers: Readonly<Record<string, string>>;
  /** The attributes of the resource, such as `service.name`. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly sampler: (typeof samplers)[number];
  /** The share of traces that is recorded if the sampler uses one, from 0 to 1. */
  readonly share: number;
  /** Whether the bank is sent `traceparent`. */
  readonly toBank: boolean;
}
