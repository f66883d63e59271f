import { writeFileSync } from 'node:fs';
import { configurationPage, variablesAsEnvExample } from '../src/config/documentation.ts';

writeFileSync('docs/configuration.md', configurationPage());
writeFileSync('.env.example', variablesAsEnvExample());
