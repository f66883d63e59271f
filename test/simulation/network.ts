import { Duplex } from 'node:stream';
import { between } from './choices.ts';
import type { SimulatedProcess, World } from './world.ts';

type Message = Buffer | 'end' | 'reset';

/** A server's place in the network. */
interface Listener {
  readonly process: SimulatedProcess;
  readonly accept: (socket: SimulatedSocket) => void;
}

/** One end of a connection, with what of net.Socket its users use. */
export class SimulatedSocket extends Duplex {
  /** Of the connection. */
  name: string;
  readonly process: SimulatedProcess | null;
  readonly remoteAddress = '192.0.2.1';
  connecting = true;
  /** When the latest bytes that arrived here left the other end, in milliseconds of the world. */
  leftAt = 0;
  /** Sends to the other end, once there is one. */
  deliver: (message: Message) => void = () => {};
  #isReset = false;

  constructor(name: string, process: SimulatedProcess | null) {
    // As a net.Socket, it ends when the other side does.
    super({ allowHalfOpen: false });
    this.name = name;
    this.process = process;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: unknown, done: () => void): void {
    this.deliver(Buffer.from(chunk));
    done();
  }

  /** What is written at once arrives at once. */
  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk))), null, done);
  }

  override _final(done: () => void): void {
    this.deliver('end');
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.deliver(this.#isReset ? 'reset' : 'end');
    this.deliver = () => {};
    done(error);
  }

  resetAndDestroy(): this {
    this.#isReset = true;
    return this.destroy();
  }

  setKeepAlive = (): this => this;
  setNoDelay = (): this => this;
  // Whoever calls it here has timers of its own beside it.
  setTimeout = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
}

const baseLatencyMs = 1;

/**
 * Connections between processes: bytes arrive in their order, after a while. A connection may be slow, break, or fall silent
 * so that neither end is told; what was sent before it broke may have arrived or not.
 */
export class SimulatedNetwork {
  readonly #world: World;
  readonly #listeners = new Map<string, Listener>();
  readonly #opened = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  listen(address: string, process: SimulatedProcess, accept: Listener['accept']): void {
    this.#listeners.set(address, { process, accept });
  }

  refuse(address: string): void {
    this.#listeners.delete(address);
  }

  /** Connects a socket of the process whose code runs, later, or fails. */
  connect(address: string, socket = new SimulatedSocket('', this.#world.process ?? null)): SimulatedSocket {
    const world = this.#world;
    const { process } = socket;
    const route = `${process?.name} to ${address.split(':', 1)[0]}`;
    const nth = (this.#opened.get(route) ?? 0) + 1;
    this.#opened.set(route, nth);
    const name = `${route}, connection ${nth}`;
    socket.name = name;
    world.after(2 * this.#latency(name), 'message', process, 'connected', () => {
      socket.connecting = false;
      if (socket.destroyed) return;
      const listener = this.#listeners.get(address);
      if (listener === undefined || listener.process.isDead) {
        world.note(`${name} is refused`);
        socket.destroy(systemError('ECONNREFUSED'));
        return;
      }
      const other = new SimulatedSocket(`${name}, back`, listener.process);
      other.connecting = false;
      this.#join(socket, other);
      world.as(listener.process, () => listener.accept(other));
      socket.emit('connect');
      socket.emit('ready');
    });
    return socket;
  }

  #latency(name: string): number {
    const late = this.#world.choices.departs('late messages', 0.02, `${name}, is late`);
    const jitter = this.#world.choices.random(`jitter: ${name}, ${this.#world.now}`);
    return baseLatencyMs + jitter + (late === null ? 0 : between(20, 20_000, late));
  }

  #join(one: SimulatedSocket, other: SimulatedSocket): void {
    const isSilent = { now: false };
    this.#direct(one, other, isSilent);
    this.#direct(other, one, isSilent);
  }

  /** Lets what one end sends arrive at the other. */
  #direct(from: SimulatedSocket, to: SimulatedSocket, isSilent: { now: boolean }): void {
    const world = this.#world;
    const { choices } = world;
    let sent = 0;
    let arrivedBy = 0;
    const send = (message: Message) => {
      if (isSilent.now) return;
      // Nothing overtakes what was sent before it over the same connection.
      arrivedBy = Math.max(arrivedBy, world.now + this.#latency(`${from.name}, message ${sent}`));
      const leftAt = world.now;
      world.after(arrivedBy - leftAt, 'message', to.process, from.name, () => {
        to.leftAt = leftAt;
        arrive(to, message);
      });
    };
    const breakUp = () => {
      send('reset');
      world.after(baseLatencyMs, 'message', from.process, from.name, () => arrive(from, 'reset'));
      isSilent.now = true;
    };
    from.deliver = (message) => {
      const name = `${from.name}, message ${++sent}`;
      if (from.process !== null && !world.takesEffect(from.process, name)) return;
      if (choices.departs('broken connections', 0.01, `${name}, breaks the connection`) !== null) {
        world.note(`${name} is lost, and the connection is broken`);
        breakUp();
      } else if (choices.departs('silent connections', 0.005, `${name}, is the last to leave`) !== null) {
        world.note(`${name} is the last one of a connection that falls silent`);
        send(message);
        isSilent.now = true;
      } else send(message);
      if (choices.departs('broken connections', 0.01, `${name}, is the last to arrive`) !== null) {
        world.note(`${name} is sent, and then the connection is broken`);
        breakUp();
      }
    };
    from.process?.onDeath.push(() => {
      if (from.destroyed) return;
      // A machine that loses its power tells nobody.
      if (choices.departs('silent connections', 0.2, `${from.name}, dies silently`) === null) send('reset');
      isSilent.now = true;
    });
  }
}

function arrive(socket: SimulatedSocket, message: Message): void {
  if (socket.destroyed) return;
  if (message === 'end') socket.push(null);
  else if (message === 'reset') socket.destroy(systemError('ECONNRESET'));
  else socket.push(message);
}

const systemError = (code: string): Error => Object.assign(new Error(code), { code });
