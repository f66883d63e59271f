import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type BankqlProcess, startProcess } from './process.ts';

/** What was answered: its length rather than its text, which may be long. */
export interface Answered {
  readonly status: number;
  readonly bytes: number;
  /** The first characters. */
  readonly start: string;
}

/** What an attack cost. */
export interface Costs {
  /**
   * The most processor time that the process's main thread took while a good caller waited, in milliseconds: what it
   * would have waited on a machine that does nothing else. The time for which this process was late to read its answer, or to
   * answer as the bank, is taken off: the other one may have worked for others then. 0 where the system does not say.
   */
  readonly worstWork: number;
  /** How many of a good caller's requests were refused with 503. */
  readonly refused: number;
  /** By how much the process's memory grew, in megabytes; 0 where the system does not say. */
  readonly grownMegabytes: number;
}

/** The memory that a process holds, in megabytes; 0 where the system does not say. */
function residentMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** The processor time that a process's main thread has taken, in milliseconds; 0 where the system does not say. */
function workOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    return 0;
  }
}

const lookEveryMs = 5;

/** How long this process has been late for its timers, in milliseconds: because it was busy itself, or another one was. */
class Lateness implements Disposable {
  #total = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => {
    this.#total = this.total;
    this.#last = performance.now();
  }, lookEveryMs);

  get total(): number {
    const late = performance.now() - this.#last - lookEveryMs;
    // Each timer is a little late.
    return this.#total + (late > lookEveryMs ? late : 0);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** bankql as a process of its own, which is attacked over its socket. */
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

  /** Sends a body to /graphql, and reads the answer without keeping it. Errors: where there is none. */
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

  /** Runs an attack while a good caller asks something small, again and again. Errors: where one of those fails. */
  async during(attack: () => Promise<unknown>, headers: Readonly<Record<string, string>>): Promise<Costs> {
    const small = JSON.stringify({ query: '{ bank { branches(first: 1) { totalCount } } }' });
    const pid = this.process.child.pid ?? 0;
    // Its connection is there before those of the attack.
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
      // Once more after the attack.
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

  /** The value of a metric, named with its labels, if METRICS_PORT is given. */
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
