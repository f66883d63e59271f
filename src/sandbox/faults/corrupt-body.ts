/** Ways to corrupt the text of a JSON answer. Numbers are read as text, so that drift keeps all of their digits. */
export const corruptBody = {
  /** A text that ends too early, though the Content-Length is right. */
  'broken-json': (text: string) => text.slice(0, Math.ceil(text.length / 2)),

  /** No value has the type that the contract asks for; the structure stays. */
  'wrong-types': (text: string) =>
    JSON.stringify(
      JSON.parse(text, (_key, value) => {
        if (typeof value === 'string') return 0;
        if (typeof value === 'number') return 'no number';
        return typeof value === 'boolean' ? String(value) : value;
      }),
    ),

  /** Deviations of real banks that a client should tolerate: numbers as strings, and objects in `views_available`. */
  drift: (text: string) =>
    JSON.stringify(
      JSON.parse(text, (key, value, { source }) => {
        if (typeof value === 'number') return source;
        return key === 'views_available' && Array.isArray(value) ? value.map((id) => ({ id })) : value;
      }),
    ),
} as const;
