import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type BankqlProcess, startProcess } from './process.ts';

/** An answer, with its length instead of its text, which may be long. */
export interface Answered {
  readonly status: number;
  readonly bytes: number;
  /** The first characters. */
  readonly start: string;
}

/** The effects of an attack. */
interface Costs {
  /**
   * The maximum processor time of bankql's main thread while a good caller waited, in milliseconds: the wait on a machine
   * without other work. The time for which the test's own process, as the caller or as the bank, was late is subtracted,
   * because bankql may have worked for others meanwhile. 0 if the system does not report it.
   */
  readonly worstWork: number;
  /** The number of the good caller's requests that were refused with 503. */
  readonly refused: number;
  /** The growth of the process's memory, in megabytes; 0 if the system does not report it. */
  readonly grownMegabytes: number;
}

/** The memory of a process, in megabytes; 0 if the system does not report it. */
function residentMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** The processor time of a process's main thread so far, in milliseconds; 0 if the system does not report it. */
function workOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    return 0;
  }
}

const lookEveryMs = 5;

/** Measures for how long this process was late for its timers, in milliseconds, because it or another process was busy. */
class Lateness implements Disposable {
  #total = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => {
    this.#total = this.total;
    this.#last = performance.now();
  }, lookEveryMs);

  get total(): number {
    const late = performance.now() - this.#last - lookEveryMs;
    // Each timer is a little late, which does not count.
    return this.#total + (late > lookEveryMs ? late : 0);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** bankql as a separate process, which is attacked over its socket. */
export class AttackedProcess implements AsyncDisposable {
  readonly process: BankqlProcess;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(process: BankqlProcess) {
    this.process = process;
  }

  static async start(environment: Readonly<Record<string, string>>): Promise<AttackedProcess> {
    return new AttackedProcess(await startProcess(environment));
  }

  get isAlive(): boolean {
    const { exitCode, signalCode } = this.process.child;
    return exitCode === null && signalCode === null;
  }

  get url(): string {
    return this.process.url.replace('/graphql', '');
  }

  /**
   * Sends a body to /graphql, and reads the answer without keeping it.
   * Errors: an Error if there is no answer.
   */
  ask(
    body: string,
    headers: Readonly<Record<string, string>> = {},
    agent: Agent = this.#agent,
  ): Promise<Answered> {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const sent = request(`${this.url}/graphql`, {
      agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
    });
    sent.on('response', (response) => {
      let bytes = 0;
      let start = '';
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (start.length < 2000) start += chunk.toString('latin1').slice(0, 2000);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes, start }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  /**
   * Runs an attack while a good caller repeatedly sends a small request.
   * Errors: an Error if one of these requests fails.
   */
  async during(attack: () => Promise<unknown>, headers: Readonly<Record<string, string>>): Promise<Costs> {
    const small = JSON.stringify({ query: '{ bank { branches(first: 1) { totalCount } } }' });
    const pid = this.process.child.pid ?? 0;
    // Opens the good caller's connection before those of the attack.
    await this.ask(small, headers);
    const before = residentMegabytes(pid);
    let most = before;
    let worstWork = 0;
    let isOver = false;
    let refused = 0;
    const attacking = attack().finally(() => {
      isOver = true;
    });
    using lateness = new Lateness();
    const asking = async () => {
      // One more request follows after the attack.
      for (let isLast = false; !isLast; await delay(5)) {
        isLast = isOver;
        const [worked, late] = [workOf(pid), lateness.total];
        const { status, start } = await this.ask(small, headers);
        worstWork = Math.max(worstWork, workOf(pid) - worked - (lateness.total - late));
        most = Math.max(most, residentMegabytes(pid));
        if (status === 503) refused++;
        else if (status !== 200 || start.includes('errors'))
          throw new Error(`a good caller got ${status}: ${start}`);
      }
    };
    await Promise.all([attacking, asking()]);
    return { worstWork, refused, grownMegabytes: most - before };
  }

  /** The value of a metric, by its name with its labels, if METRICS_PORT is set. */
  async metric(name: string): Promise<number> {
    const [, url = ''] = /Metrics: (\S+)\./.exec(this.process.output()) ?? [];
    const text = await (await fetch(url)).text();
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.process[Symbol.asyncDispose]();
  }
}
