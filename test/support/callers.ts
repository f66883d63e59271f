import { type Caller, Callers } from '../../src/load/callers.ts';

/** Finds callers by name, as the Callers of one process do. `group`: the network address of an unverified caller. */
export function createCallers(): (name: string, group?: string) => Caller {
  const callers = new Callers();
  return (name, group = name) => callers.find({ name, group });
}
