import { getOrMake } from '../get-or-make.ts';

/** The properties by which the connection to close is chosen. */
interface Member {
  /** The network address of the client. */
  readonly peer: string;
  /** Whether no request of the connection is in progress. */
  readonly isIdle: boolean;
}

/**
 * The connections of a server, by network address. An address that has more than half of them may be that of the proxy in front
 * of bankql. Therefore, the idle connections of such an address are closed only if all connections are in use and another
 * address needs one.
 */
export class Connections<Connection extends Member> {
  readonly #all = new Set<Connection>();
  readonly #byPeer = new Map<string, Set<Connection>>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#all.values();
  }

  countOf({ peer }: Connection): number {
    return this.#byPeer.get(peer)?.size ?? 0;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    getOrMake(this.#byPeer, connection.peer, () => new Set<Connection>()).add(connection);
  }

  delete(connection: Connection): void {
    const ofPeer = this.#byPeer.get(connection.peer);
    this.#all.delete(connection);
    ofPeer?.delete(connection);
    if (ofPeer?.size === 0) this.#byPeer.delete(connection.peer);
  }

  /**
   * The connection to close if there is one too many. It is the oldest idle connection of an address that has more than half, if
   * the newest connection is from another address; otherwise the newest.
   */
  surplus(newest: Connection): Connection {
    const most = this.#byPeer.values().find((ofPeer) => ofPeer.size > this.size / 2);
    if (most === undefined || most.has(newest)) return newest;
    return most.values().find(({ isIdle }) => isIdle) ?? newest;
  }
}
