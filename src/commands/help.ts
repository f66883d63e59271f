import { variablesAsHelp } from '../config/documentation.ts';
import { commands } from './commands.ts';

const width = Math.max(...Object.keys(commands).map((name) => name.length));
const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`);

/** `bankql help`, `bankql --help`. */
export const help = (): string => `bankql: a GraphQL façade over a bank's REST interface.

usage: bankql [command] [--env-file FILE]

${list.join('')}
  help COMMAND, or COMMAND --help, tells more; --version prints the version.
  --env-file FILE reads variables from a file; those of the environment come first.

  npx bankql                                     serves the sandbox bank
  bankql doctor --env-file production.env        compares the bank's answers with the contract

Environment variables, with their defaults:

${variablesAsHelp()}`;
