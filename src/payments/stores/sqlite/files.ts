/** The files of a SQLite store at a path: the database, with the log and its index as SQLite names them, and the high-water mark. */
export const filesOf = (path: string) => ({
  database: [path, `${path}-wal`, `${path}-shm`],
  mark: `${path}.mark`,
});
