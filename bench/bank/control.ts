/** How the bank answers. */
export interface Behaviour {
  /** Whether no two answers are the same bytes. */
  readonly bodies: 'fresh' | 'unchanged';
  readonly latencyMs: number;
}

/** The stub of the bank, as the bench drives it. */
export interface Bank {
  readonly url: string;
  readonly pid: number;
  /** Sets how it answers, and its counts to zero. */
  set(behaviour: Partial<Behaviour>): Promise<void>;
  /** The calls of each operation since `set`; those that it did not answer as `refused` and `unknown path`. */
  calls(): Promise<Readonly<Record<string, number>>>;
}

export function controlBank(url: string, pid: number): Bank {
  const ask = async (target: string, method: string) => {
    const response = await fetch(url + target, { method });
    const counts: Record<string, number> = await response.json();
    return counts;
  };
  return {
    url,
    pid,
    async set({ bodies = 'fresh', latencyMs = 0 }) {
      await ask(`/__set?bodies=${bodies}&latency=${latencyMs}`, 'POST');
    },
    calls: () => ask('/__calls', 'GET'),
  };
}
