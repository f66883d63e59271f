import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import timersPromises from 'node:timers/promises';
import { type SimulatedNetwork, SimulatedSocket } from './network.ts';
import type { Happening, World } from './world.ts';

/** When the world begins: a time that no test mistakes for the machine's. */
export const epoch = Date.UTC(2001, 0, 1);

type Callback = (...args: unknown[]) => void;

/** What setTimeout and setInterval give. */
class VirtualTimer {
  readonly #set: () => Happening;
  #happening: Happening;

  constructor(set: (timer: VirtualTimer) => Happening) {
    this.#set = () => set(this);
    this.#happening = this.#set();
  }

  refresh(): this {
    this.close();
    this.#happening = this.#set();
    return this;
  }

  close(): this {
    this.#happening.isCancelled = true;
    return this;
  }

  // Nothing but the world's end ends the world, so that it matters to nobody what keeps a process alive.
  ref = (): this => this;
  unref = (): this => this;
  hasRef = (): boolean => true;
  [Symbol.dispose] = (): void => void this.close();
}

/**
 * Puts the world's clocks, timers, network and chance in the place of the machine's, for all modules of this process,
 * those of dependencies too. Only one world at a time; `dispose` gives the machine's back.
 */
export function installVirtualGlobals(world: World, network: SimulatedNetwork): Disposable {
  const replaced: (() => void)[] = [];
  const replace = (target: object, name: string, value: unknown) => {
    const before = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { configurable: true, writable: true, value });
    replaced.push(() => {
      if (before === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, before);
    });
  };
  const wallClock = () => Math.floor(epoch + world.now + (world.process?.clockAheadMs ?? 0));
  const timer = (what: string, callback: () => void, ms = 1, repeats = false) => {
    const delayMs = ms >= 1 ? ms : 1;
    const process = world.process ?? null;
    return new VirtualTimer((own) =>
      world.after(delayMs, 'timer', process, what, () => {
        if (repeats) own.refresh();
        callback();
      }),
    );
  };
  const clear = (cleared: unknown) => {
    if (cleared instanceof VirtualTimer) cleared.close();
  };
  const drawn = new Map<string, number>();
  /** A number from 0 up to 1, another one each time. */
  const draw = (): number => {
    const name = world.process?.name ?? '';
    const nth = (drawn.get(name) ?? 0) + 1;
    drawn.set(name, nth);
    return world.choices.random(`drawn by ${name}: ${nth}`);
  };
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(draw() * 256)));

  replace(globalThis, 'setTimeout', (callback: Callback, ms?: number, ...args: unknown[]) =>
    timer('timeout', () => callback(...args), ms),
  );
  replace(globalThis, 'setInterval', (callback: Callback, ms?: number, ...args: unknown[]) =>
    timer('interval', () => callback(...args), ms, true),
  );
  replace(
    globalThis,
    'setImmediate',
    (callback: Callback, ...args: unknown[]) =>
      new VirtualTimer(() =>
        world.after(0, 'immediate', world.process ?? null, 'immediate', () => callback(...args)),
      ),
  );
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) replace(globalThis, name, clear);
  replace(
    timersPromises,
    'setTimeout',
    (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      new Promise((resolve, reject) => {
        const { signal } = options ?? {};
        if (signal?.aborted) return reject(signal.reason);
        const timeout = timer('delay', () => resolve(value), ms);
        const abort = () => {
          timeout.close();
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', abort, { once: true });
      }),
  );
  replace(AbortSignal, 'timeout', (ms: number) => {
    const controller = new AbortController();
    timer('abort', () => controller.abort(new DOMException('timeout', 'TimeoutError')), ms);
    return controller.signal;
  });

  const RealDate = Date;
  replace(
    globalThis,
    'Date',
    class extends RealDate {
      constructor(...args: unknown[]) {
        // Whatever a Date takes.
        super(...((args.length === 0 ? [wallClock()] : args) as [number]));
      }
      static override now = wallClock;
    },
  );
  // Most errors of a simulation are expected: a stack would take longer than all else of them.
  replace(Error, 'stackTraceLimit', 0);
  replace(performance, 'now', () => world.now);
  replace(Math, 'random', draw);
  replace(crypto, 'randomBytes', bytes);
  replace(crypto, 'randomUUID', () => {
    const hex = bytes(16).toString('hex');
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
  });
  const connect = (options: { host?: string; port?: number | string }) =>
    network.connect(`${options.host}:${options.port}`);
  replace(net, 'connect', connect);
  replace(net, 'createConnection', connect);
  replace(
    net,
    'Socket',
    class extends SimulatedSocket {
      constructor() {
        super('', world.process ?? null);
      }
      connect(port: number, host: string): this {
        network.connect(`${host}:${port}`, this);
        return this;
      }
    },
  );
  syncBuiltinESMExports();

  return {
    [Symbol.dispose]() {
      for (const giveBack of replaced.toReversed()) giveBack();
      syncBuiltinESMExports();
    },
  };
}
