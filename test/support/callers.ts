import { type Caller, Callers } from '../../src/load/callers.ts';

/** Finds callers by name, as one process knows them; `group`: the peer that claims the name. */
export function createCallers(): (name: string, group?: string) => Caller {
  const callers = new Callers();
  return (name, group = name) => callers.find({ name, group });
}
