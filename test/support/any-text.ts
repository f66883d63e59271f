import fc from 'fast-check';

/**
 * Any character of Unicode, as a `unit` of fc.string. fast-check's own unit 'binary' first makes a table of all characters, which
 * takes two seconds in each process.
 */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
