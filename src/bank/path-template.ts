import { plainId, validateId } from './ids.ts';

/** Ids by their names in a path template. */
export type Ids = Readonly<Record<string, string>>;

/** Path templates as what stands between their ids, and the ids' names. */
const templates = new Map<string, readonly { readonly before: string; readonly name: string }[]>();

function parseTemplate(template: string) {
  let parts = templates.get(template);
  if (parts === undefined) {
    const pieces = template.split(/[{}]/);
    parts = Array.from({ length: (pieces.length - 1) / 2 }, (_, at) => ({
      before: pieces[2 * at] ?? '',
      name: pieces[2 * at + 1] ?? '',
    }));
    templates.set(template, parts);
  }
  return parts;
}

/** The ids that a path template names, in its order. */
export const idsInOrder = (template: string, ids: Ids): string[] =>
  parseTemplate(template).map(({ name }) => ids[name] ?? '');

/**
 * A path template with its ids in place, each as one percent-encoded segment.
 * Errors: BAD_USER_INPUT, as checkId.
 */
export function expandPath(template: string, ids: Ids): string {
  let path = '';
  for (const { before, name } of parseTemplate(template)) {
    const id = ids[name] ?? '';
    // What is plain is its own encoding.
    path += before + (plainId.test(id) ? id : encodeURIComponent(validateId(name, id)));
  }
  return path + template.slice(template.lastIndexOf('}') + 1);
}
