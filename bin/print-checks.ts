import { writeFileSync } from 'node:fs';
import { operations } from '../src/contract/operations.ts';
import { printedChecks } from '../src/contract/print-checks.ts';

writeFileSync('src/contract/checks.ts', printedChecks(Object.values(operations)));
