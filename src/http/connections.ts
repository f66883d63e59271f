import { getOrMake } from '../get-or-make.ts';

/** What decides which connection has to end. */
interface Member {
  /** The peer at the other end: its network address. */
  readonly peer: string;
  /** Whether no request of it is in progress. */
  readonly isIdle: boolean;
}

/**
 * The connections of a server, by their peers. A peer that takes more than half of them may be the proxy in front of bankql, so it
 * gives way only while others find no place.
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
   * The connection that has to end if there is one too many: the oldest idle one of a peer that has more than half, if the newest is
   * another peer's; otherwise the newest.
   */
  surplus(newest: Connection): Connection {
    const most = this.#byPeer.values().find((ofPeer) => ofPeer.size > this.size / 2);
    if (most === undefined || most.has(newest)) return newest;
    return most.values().find(({ isIdle }) => isIdle) ?? newest;
  }
}
