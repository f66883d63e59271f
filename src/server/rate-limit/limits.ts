/** A number of REST calls per number of seconds, counted from the first call. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** The limits of REST calls per caller and per key. */
export interface RateLimits {
  /** For each caller, identified by all three credentials; null for no limit. */
  readonly perCaller: RateLimit | null;
  /** For all callers with one subscription key together; null for no limit. */
  readonly perKey: RateLimit | null;
}
