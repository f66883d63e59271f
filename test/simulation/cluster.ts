import { rowIn } from '../../src/payments/driver.ts';
import type { PaymentRecord } from '../../src/payments/store.ts';
import type { AuditLine, BankEntry } from '../support/payment-history.ts';
import { between } from './choices.ts';
import type { SimulatedNetwork } from './network.ts';
import { bankAddress, type Replica, startReplica } from './replica.ts';
import { SimulatedBank } from './simulated-bank.ts';
import { type Database, SimulatedDatabase } from './simulated-database.ts';
import { SimulatedPostgres } from './simulated-postgres.ts';
import type { Variant } from './variants.ts';
import { SimulatedProcess, type World } from './world.ts';

/** A place of a replica, which is empty while that is down. */
interface Place {
  readonly n: number;
  starts: number;
  process: SimulatedProcess;
  running: Replica | null;
}

/** Replicas of bankql over one store and one bank, and all that can happen to them. */
export class Cluster {
  readonly audit: AuditLine[] = [];
  /** What a replica did that it must not, whatever the payments. */
  readonly misdeeds: string[] = [];
  readonly database: Database;
  /** The replicas that died by a crash. */
  readonly crashed = new Set<string>();
  /** How far the store's clock was ahead at most. */
  #mostAheadMs = 0;
  #isRestarting = false;
  readonly places: readonly Place[];
  readonly #world: World;
  readonly #network: SimulatedNetwork;
  readonly #variant: Variant;
  readonly #bank: SimulatedBank;

  constructor(world: World, network: SimulatedNetwork, variant: Variant) {
    this.#world = world;
    this.#network = network;
    this.#variant = variant;
    this.database = variant.isOverPostgres
      ? new SimulatedPostgres(world, network, variant.driverOf)
      : new SimulatedDatabase(world, variant.driverOf);
    this.#bank = new SimulatedBank(world, network);
    this.#bank.listen();
    this.places = Array.from({ length: 2 + Math.floor(world.choices.random('replicas') * 2) }, (_, n) => ({
      n,
      starts: 0,
      process: new SimulatedProcess(`replica ${n}`),
      running: null,
    }));
    for (const place of this.places) this.#launch(place);
  }

  get received(): readonly BankEntry[] {
    return this.#bank.received;
  }

  /** How far the store's clock was set back at most: a lease that began before ends so much later. */
  get setBackMs(): number {
    return this.#mostAheadMs - this.database.clockAheadMs;
  }

  /** What is stored. */
  async records(): Promise<readonly PaymentRecord[]> {
    const rows = await this.database.driver.search({ limit: Number.MAX_SAFE_INTEGER });
    return rows.map((row) => rowIn(row).held.record);
  }

  /** What may happen within a second, as the seed says. */
  shake(): void {
    const { choices, now } = this.#world;
    const at = `at ${Math.round(now)} ms`;
    for (const { process, n } of this.places) {
      if (choices.departs('crashes', 0.02, `replica ${n} is killed ${at}`) !== null) {
        this.#world.note(`${process.name} is killed`);
        process.die();
      }
      this.#world.mayStop(process, at, 0.02);
      const jump = choices.departs('jumps', 0.02, `the clock of replica ${n} jumps ${at}`);
      if (jump !== null) {
        process.clockAheadMs += Math.round((jump - 0.5) * 120_000);
        this.#world.note(`the clock of ${process.name} jumps`);
      }
    }
    const away = choices.departs('store', 0.04, `the store goes away ${at}`);
    if (away !== null) {
      // For a moment, or for longer than a lease.
      const forMs = between(50, 20_000, away);
      this.#world.note(`the store is away for ${Math.round(forMs)} ms`);
      this.database.goAway(forMs);
    }
    const jump = choices.departs('jumps', 0.01, `the clock of the store jumps ${at}`);
    if (jump !== null) {
      this.#world.note('the clock of the store jumps');
      this.database.clockAheadMs += Math.round((jump - 0.5) * 120_000);
      this.#mostAheadMs = Math.max(this.#mostAheadMs, this.database.clockAheadMs);
    }
    const refuses = choices.departs('bank', 0.03, `the bank refuses connections ${at}`);
    if (refuses !== null) {
      this.#world.note('the bank refuses connections');
      this.#network.refuse(bankAddress);
      this.#later(between(50, 5000, refuses), () => this.#bank.listen());
    }
  }

  /** Starts all replicas anew, after a SIGTERM. */
  restart(): void {
    this.#isRestarting = true;
    for (const { process, running } of this.places) {
      if (running === null) continue;
      const end = () => process.die();
      this.#world
        .as(process, () => running.stop())
        .then(end, (error) => {
          this.misdeeds.push(`a stop failed: ${error}`);
          end();
        });
    }
  }

  #later(ms: number, run: () => void): void {
    this.#world.after(ms, 'timer', null, 'chaos', run);
  }

  #launch(place: Place): void {
    const world = this.#world;
    const process = new SimulatedProcess(`replica ${place.n}.${++place.starts}`, { isMortal: true });
    Object.assign(place, { process, running: null });
    const ahead = world.choices.departs('clocks', 0.3, `the clock of ${process.name} is wrong`);
    process.clockAheadMs = ahead === null ? 0 : Math.round((ahead - 0.5) * 120_000);
    process.onDeath.push(() => {
      if (!this.#isRestarting) this.crashed.add(process.name);
      place.running = null;
      this.#later(between(20, 5000, world.choices.random(`${process.name} comes back`)), () =>
        this.#launch(place),
      );
    });
    const { audit } = this;
    const variant = this.#variant;
    world
      .as(process, () =>
        startReplica({ world, process, openStore: () => this.database.openStore(process), variant, audit }),
      )
      .then(
        (replica) => {
          world.note(`${process.name} is up`);
          place.running = replica;
        },
        (error: Error) => {
          // The store may be away just now; whoever runs bankql starts it again.
          if (!error.message.startsWith('The payment store ')) this.misdeeds.push(`a start failed: ${error}`);
          world.note(`${process.name} cannot start: ${error.message}`);
          process.die();
        },
      );
  }
}
