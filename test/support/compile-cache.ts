import { join } from 'node:path';

/**
 * The folder for code that Node has compiled, shared by the processes of the tests. Compilation is two fifths of the processor
 * time of a start.
 */
export const compileCache = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/node-compile-cache'),
};
