import { writeFileSync } from 'node:fs';
import { generateValidators } from '../src/contract/generate-validators.ts';
import { operations } from '../src/contract/operations.ts';

writeFileSync('src/contract/validators.generated.ts', generateValidators(Object.values(operations)));
