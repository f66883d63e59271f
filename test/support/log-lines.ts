/**
 * Those lines of the log that contain these words, parsed. A process prints other text as well, and the output so far may end
 * within a line.
 */
export const logLines = (output: string, words = '') =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(words))
    .map((line) => JSON.parse(line));
