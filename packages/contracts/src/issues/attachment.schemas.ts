import { z } from 'zod';
import { uuid } from '../text.schemas.ts';

/** Maximum size of a file, in bytes. */
export const attachmentBytesMax = 25 * 1024 * 1024;
/** Maximum number of files that a text names, and of those in the body of an issue. */
export const attachmentsPerTextMax = 20;
/** Maximum number of files of an issue. */
export const attachmentsPerIssueMax = 200;

/** The types that are shown as pictures. All other files are downloads. */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'] as const;
export type PictureType = (typeof pictureTypes)[number];

/** A file as a text shows it. */
export const attachedFileSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    size: z.int().nonnegative().describe('In bytes.'),
    media_type: z
      .string()
      .describe(
        `The type by the first bytes: ${pictureTypes.map((type) => `\`${type}\``).join(', ')} for a picture, \`application/octet-stream\` for any other file.`,
      ),
    width: z.int().positive().nullable().describe('Of a picture, in pixels.'),
    height: z.int().positive().nullable().describe('Of a picture, in pixels.'),
    url: z.url().describe('The URL of its content.'),
  })
  .meta({ id: 'AttachedFile' });
export type AttachedFile = z.infer<typeof attachedFileSchema>;
