/** So many REST calls in so many seconds, counted from the first one. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** How many REST calls are made for whom. */
export interface RateLimits {
  /** Of one caller, told apart by all three credentials; null for no limit. */
  readonly perCaller: RateLimit | null;
  /** Of all callers with one subscription key; null for no limit. */
  readonly perKey: RateLimit | null;
}
