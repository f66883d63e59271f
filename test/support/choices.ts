/**
 * What the seed decides. The usual course of a run is that nothing goes wrong; each way in which it departs from that has a
 * name, and whether it does depends on the seed and the name alone. So a departure can be left out without changing the
 * others, and what remains of a violation once all that can be left out is left out is its shortest schedule.
 */
export class Choices {
  /** The departures that were taken, in their order. */
  readonly departures: string[] = [];
  readonly #seed: number;
  readonly #allowed: ReadonlySet<string> | null;
  readonly #times = new Map<string, number>();
  readonly #weather = new Map<string, number>();
  #isCalm = false;

  /** `allowed`: the only departures that may be taken; any where it is null. */
  constructor(seed: number, allowed: ReadonlySet<string> | null = null) {
    this.#seed = seed;
    this.#allowed = allowed;
  }

  /** From now on all goes well. */
  calm(): void {
    this.#isCalm = true;
  }

  /** A number from 0 up to 1. */
  random(name: string): number {
    return hash(`${this.#seed} ${name}`) / 2 ** 32;
  }

  /**
   * Whether the run departs from its usual course here. Departures of one kind are frequent in some seeds, and in others there
   * are none; those of no kind are as likely in each.
   * Shape: null where it does not, else a number from 0 up to 1 that says how.
   */
  departs(kind: string | null, chance: number, name: string): number | null {
    const likely = chance * this.#weatherOf(kind);
    if (this.#isCalm || likely === 0) return null;
    const nth = (this.#times.get(name) ?? 0) + 1;
    this.#times.set(name, nth);
    const unique = nth === 1 ? name : `${name} (${nth})`;
    if (this.#allowed !== null && !this.#allowed.has(unique)) return null;
    if (this.random(unique) >= likely) return null;
    this.departures.push(unique);
    return this.random(`how: ${unique}`);
  }

  #weatherOf(kind: string | null): number {
    if (kind === null) return 1;
    const known = this.#weather.get(kind);
    if (known !== undefined) return known;
    const drawn = this.random(`weather: ${kind}`);
    const factor = drawn < 0.4 ? 0 : drawn < 0.8 ? 1 : 4;
    this.#weather.set(kind, factor);
    return factor;
  }
}

/** A 32-bit hash of a text: FNV-1a, with the last step of MurmurHash3, without which similar names have similar numbers. */
export function hash(text: string, start = 0x811c9dc5): number {
  let h = start;
  for (let n = 0; n < text.length; n++) h = Math.imul(h ^ text.charCodeAt(n), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Between two numbers, small ones as likely as large ones: half of the results are below their geometric mean. */
export const between = (least: number, most: number, at: number): number => least * (most / least) ** at;
