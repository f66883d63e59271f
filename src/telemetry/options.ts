/** Where traces go. The configuration reads it without loading OpenTelemetry. */
export interface TracingOptions {
  /** Where spans are sent, without `/v1/traces`. */
  readonly endpoint: string;
  /**
   * The variables OTEL_… by name. bankql reads the sampler, the headers and the service's name; OpenTelemetry reads the others itself,
   * from the environment of the process.
   */
  readonly openTelemetry: Readonly<Record<string, string | undefined>>;
}
