/** Whether a value of the bank is a text that contains the given one, whatever the case. */
export const contains = (value: unknown, text: string): boolean =>
  typeof value === 'string' && value.toLowerCase().includes(text.toLowerCase());
