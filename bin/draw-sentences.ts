import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { marked, type Token, type Tokens } from 'marked';

/**
 * `node bin/draw-sentences.ts SEED [COUNT]`: draws COUNT sentences of the pages and COUNT comments of the code at random
 * (default: 100 of each). Somebody who has not written them judges them. The same seed and commit give the same draw. The
 * specification is left out, because the bank has written it.
 */

const [seed, count = '100'] = process.argv.slice(2);
if (seed === undefined) {
  process.stderr.write('usage: node bin/draw-sentences.ts SEED [COUNT]\n');
  process.exit(2);
}
const root = join(import.meta.dirname, '..');

interface Drawn {
  readonly file: string;
  readonly text: string;
}

const filesOf = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The texts of a page: its paragraphs, entries of lists, and the cells of tables that are not mere names. */
function proseOf(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token) => {
    if (token.type === 'table')
      return (token as Tokens.Table).rows.flatMap((row) => row.map(({ text }) => text).filter(isStatement));
    if (token.type === 'list') return (token as Tokens.List).items.flatMap((item) => proseOf(item.tokens));
    return token.type === 'paragraph' || token.type === 'text' ? [token.raw] : [];
  });
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The number of words besides code and links. */
const wordsIn = (text: string): number =>
  (text.replaceAll(/`[^`]*`|\[[^\]]*\]\([^)]*\)/g, '').match(/\p{L}{2,}/gu) ?? []).length;
const isSentence = (text: string): boolean => text.split(' ').length >= 4 && wordsIn(text) >= 3;
/** Whether a cell is not only a name or a value. */
const isStatement = (cell: string): boolean => /[.?!]$/.test(cell) || wordsIn(cell) >= 6;

const sentencesOf = (file: string): readonly Drawn[] =>
  proseOf(marked.lexer(read(file)))
    .flatMap((text) => plain(text).split(/(?<=[.?!:]) (?=[A-Z`[])/))
    .filter(isSentence)
    .map((text) => ({ file, text }));

/** The blocks of comments: those that begin a line with slash and stars, and consecutive lines of `//`. */
const commentsOf = (file: string): readonly Drawn[] =>
  [...read(file).matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm)]
    .map(([comment]) => plain(comment.replaceAll(/^[ \t]*(\/\*\*|\*\/|\*|\/\/)|\*\/$/gm, '')))
    .filter((text) => isSentence(text) && !/biome-ignore|@type|@ts-/.test(text))
    .map((text) => ({ file, text }));

/** Random numbers from 0 to 1, which depend only on the seed (mulberry32). */
function* randomOf(start: number): Generator<number, never> {
  for (let state = start; ; ) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

function draw(all: readonly Drawn[], random: Generator<number, never>): readonly Drawn[] {
  const left = [...all];
  return Array.from({ length: Math.min(Number(count), left.length) }, () => {
    const at = Math.floor(random.next().value * left.length);
    return left.splice(at, 1)[0] as Drawn;
  });
}

const random = randomOf(Number(seed));
const drawn = {
  sentences: draw(filesOf('*.md', ':!docs/specification.md').flatMap(sentencesOf), random),
  comments: draw(filesOf('src/*.ts', 'bin/*.ts', 'bench/*.ts', 'test/*.ts').flatMap(commentsOf), random),
};
for (const [kind, entries] of Object.entries(drawn))
  for (const [at, { file, text }] of entries.entries())
    process.stdout.write(`${kind} ${at + 1}  ${file}\n  ${text}\n`);
