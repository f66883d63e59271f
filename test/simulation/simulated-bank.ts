import type { Socket } from 'node:net';
import { accepting, type Fault, faultOf } from '../long/payment-history/faults.ts';
import type { Arrived } from '../support/payment-bank.ts';
import type { BankEntry } from '../support/payment-history.ts';
import type { SimulatedNetwork, SimulatedSocket } from './network.ts';
import { bankAddress, deadlineMs } from './replica.ts';
import { SimulatedProcess, type World } from './world.ts';

/** A bank that notes what arrives, and answers as the bank of check:payments does: well, badly, late or not at all. */
export class SimulatedBank {
  readonly received: BankEntry[] = [];
  readonly #world: World;
  readonly #network: SimulatedNetwork;
  readonly #process = new SimulatedProcess('bank');

  constructor(world: World, network: SimulatedNetwork) {
    this.#world = world;
    this.#network = network;
  }

  /** Takes connections. */
  listen(): void {
    this.#network.listen(bankAddress, this.#process, (socket) => this.#serve(socket));
  }

  #serve(socket: SimulatedSocket): void {
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      if (head === -1 || Buffer.byteLength(text.slice(head + 4)) < length) return;
      const [method = '', path = ''] = text.split(' ', 2);
      const account = /\/accounts\/([^/]+)/.exec(path)?.[1] ?? '';
      const trackId = /\r\ntrack-id: *(\S+)/i.exec(text)?.[1] ?? '';
      const body = text.slice(head + 4);
      text = '';
      this.#answer(socket, { method, path, account, trackId, body, connection: 0, nth: 1 });
    });
  }

  #answer(socket: SimulatedSocket, arrived: Arrived): void {
    const world = this.#world;
    const amount = Number(JSON.parse(arrived.body).value.amount).toFixed(2);
    const { act, ...fault } = this.#faultFor(arrived);
    world.note(`the bank receives ${arrived.trackId} for ${arrived.account}, ${amount} EUR: ${fault.name}`);
    this.received.push({ arrived, amount, leftAt: socket.leftAt, at: world.now, ...fault });
    // It has what an act calls of a socket.
    act(socket as unknown as Socket);
  }

  #faultFor(arrived: Arrived): Fault {
    const { choices } = this.#world;
    const nth = this.received.length + 1;
    const how = choices.departs('bank', 0.25, `the bank's answer to request ${nth} is another one`);
    if (how === null) return accepting(arrived);
    const random = (...names: readonly (string | number)[]) => choices.random(`${names.join()} ${how}`);
    return faultOf(random, arrived, nth, deadlineMs);
  }
}
