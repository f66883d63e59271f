/** Where traces go. The configuration reads it without loading OpenTelemetry. */
export interface TracingOptions {
  /** Where spans are sent, without `/v1/traces`. */
  readonly endpoint: string;
  /** The variables OTEL_… by name: OpenTelemetry reads all but the sampler itself, from the environment of the process. */
  readonly openTelemetry: Readonly<Record<string, string | undefined>>;
}
