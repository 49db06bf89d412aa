import { z } from 'zod';

/** How a paged list describes its `Link` header. */
export const nextLinkHeader = {
  Link: z
    .string()
    .optional()
    .describe('RFC 8288, `rel="next"`: the next page, relative to this one. Absent on the last.'),
};
