/** What runs until a signal ends it. */
export interface Service {
  /** SIGHUP: reads anew what can be read anew. Never rejects. */
  reload(): Promise<void>;
  /** Writes at once, before the process ends, what it alone knows. Never throws. */
  flush(): void;
  /** SIGTERM: lets what is under way end. */
  stop(): Promise<void>;
}
