/** What runs until a signal ends it. */
export interface Service {
  /** SIGHUP: reads anew what can be read anew. Never rejects. */
  reload(): Promise<void>;
  /** SIGUSR2: starts new processes in the place of those that serve. Never rejects; left out where there is one alone. */
  replaceWorkers?(): Promise<void>;
  /** Writes at once, before the process ends, what it alone knows. Never throws. */
  flush(): void;
  /** SIGTERM: lets what is under way end. */
  stop(): Promise<void>;
  /** Settles where it ends without a signal; left out where it never does. Errors: StartError. */
  readonly ended?: Promise<void>;
}
