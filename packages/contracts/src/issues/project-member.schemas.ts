import { z } from 'zod';
import { personSchema } from './issue-response.schemas.ts';
import { projectRoles } from './project.schemas.ts';

export const projectMemberSchema = z
  .object({
    user: personSchema,
    role: z
      .enum(projectRoles)
      .describe('`viewer` comments, `member` changes issues, `manager` also members and settings.'),
    since: z.iso.datetime().describe('When the person became a member. RFC 3339, UTC, with milliseconds.'),
  })
  .meta({ id: 'ProjectMember' });
export type ProjectMember = z.infer<typeof projectMemberSchema>;

/** PUT /api/v1/projects/{key}/members/{user_id}/ */
export const putProjectMemberSchema = z
  .object({
    role: z
      .enum(projectRoles, { error: `must be one of ${projectRoles.join(', ')}` })
      .describe('What the person may do.'),
  })
  .meta({ id: 'PutProjectMember' });

/** The kinds of entries in the history of a project. */
export const projectActivityKinds = [
  'created',
  'updated',
  'member_added',
  'member_changed',
  'member_removed',
] as const;
export type ProjectActivityKind = (typeof projectActivityKinds)[number];

export const projectActivitySchema = z
  .object({
    id: z.int().positive(),
    kind: z.enum(projectActivityKinds),
    actor: personSchema,
    user: personSchema.nullable().describe('The member that the entry is about.'),
    field: z
      .enum(['key', 'name', 'visibility', 'is_archived', 'mail_text', 'role'])
      .nullable()
      .describe('What has changed; null for a creation.'),
    old: z.union([z.string(), z.boolean()]).nullable().describe('The value before; null if there was none.'),
    new: z.union([z.string(), z.boolean()]).nullable().describe('The value after; null if there is none.'),
    at: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.'),
  })
  .meta({ id: 'ProjectActivity' });
export type ProjectActivity = z.infer<typeof projectActivitySchema>;
