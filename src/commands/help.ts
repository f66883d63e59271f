import { variablesAsHelp } from '../config/documentation.ts';
import type { CliContext } from './cli-context.ts';

const usage = `bankql: a GraphQL façade over a bank's REST interface.

usage: bankql [command]

  (none)     serve GraphQL, over the bank of BANK_BASE_URL or the embedded sandbox bank
  sandbox    serve the sandbox bank alone
  doctor     compare a bank's answers with the contract; doctor --help says more
  payments   find payments, and settle those of unknown outcome
  persist    make a manifest of the queries in a folder
  help       this text

Environment variables, with their defaults:

`;

/** `bankql help`, `bankql --help`. */
export const showHelp = ({ write }: CliContext): void => write(usage + variablesAsHelp());
