import type { Handler } from '../handler.ts';

/** The metadata entries with this id; none where the bank does not know it. */
export const postMetadata: Handler<'postMetadata'> = ({ body, database }) => database.metadata.of(body.id);
