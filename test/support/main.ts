import { limits } from '../../src/load/fixed-limits.ts';
import { limitsVariable } from './limits.ts';

/** bankql's own entry with other limits: those of a variable that only the tests use. */
Object.assign(limits, JSON.parse(process.env[limitsVariable] ?? '{}'));

await import('../../src/main.ts');
