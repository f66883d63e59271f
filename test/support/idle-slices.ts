import { nobody } from '../../src/load/callers.ts';
import { slices } from '../../src/load/slices.ts';
import { turns } from './waits.ts';

/**
 * Resolves when no work of the caller `nobody` waits in `slices`. A test must not have set the clock back
 * before this.
 */
export async function idleSlices(): Promise<void> {
  while (slices.hasTime);
  // This operation comes last, so it is served last.
  await slices.wait({ caller: nobody });
  await turns();
}
