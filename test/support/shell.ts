import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A shell that stays: functions, variables and the folder are those of the commands before. */
export interface Shell extends AsyncDisposable {
  /** Shape: what the commands printed on standard output. Errors: all that they printed, where one of them failed. */
  run(commands: string): Promise<string>;
}

const end = '\0\n';

export function startShell(cwd: string): Shell {
  const shell = spawn('sh', ['-e'], { cwd, stdio: 'pipe' });
  const closed = once(shell, 'close');
  let output = '';
  let errors = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return {
    async run(commands) {
      output = errors = '';
      // What reads its input must not read the commands that follow.
      shell.stdin.write(`{\n${commands}\n} </dev/null\nprintf '\\0\\n'\n`);
      while (!output.endsWith(end)) {
        await Promise.race([once(shell.stdout, 'data'), closed]);
        if (shell.exitCode !== null) {
          await closed;
          throw new Error(`${commands}\nfailed: ${output}${errors}`);
        }
      }
      return output.slice(0, -end.length);
    },
    async [Symbol.asyncDispose]() {
      shell.kill();
      await closed;
    },
  };
}
