import { z } from 'zod';
import { oneOrMore } from '../query-value.schemas.ts';
import { isVisibleName, oneLine, trimName, uuid } from '../text.schemas.ts';

/** Maximum number of projects of the service, and of present and former keys of a project. */
export const projectsMax = 500;
export const projectKeysMax = 20;
export const projectNameMaxLength = 100;
/** Maximum number of members of a project, and of projects not open to everyone that a person is a member of. */
export const projectMembersMax = 2_000;
export const memberProjectsMax = 200;

/**
 * Who reads the issues of a project. `everyone`: every user. `reporters`: members and staff; others create issues, and read those that
 * they reported or are assigned to. `members`: members and staff. `sealed`: members alone, not even staff.
 */
export const projectVisibilities = ['everyone', 'reporters', 'members', 'sealed'] as const;
export type ProjectVisibility = (typeof projectVisibilities)[number];

/** What a member does. `viewer`: reads and comments. `member`: also changes issues. `manager`: also members and settings. */
export const projectRoles = ['viewer', 'member', 'manager'] as const;
export type ProjectRole = (typeof projectRoles)[number];

/** What mails about the issues of a project contain. `none`: the key alone. */
export const projectMailTexts = ['full', 'title', 'none'] as const;
export type ProjectMailText = (typeof projectMailTexts)[number];

const mailText = z.enum(projectMailTexts, { error: `must be one of ${projectMailTexts.join(', ')}` });
const visibility = z.enum(projectVisibilities, { error: `must be one of ${projectVisibilities.join(', ')}` });

const keyPattern = /^[A-Z][A-Z0-9]{0,9}$/;
const keyError = { error: 'must be 1 to 10 letters and digits, a letter first' };

/** The key of a project in a request, in upper or lower case. */
export const projectKeyInput = z.string().toUpperCase().regex(keyPattern, keyError);

const projectName = oneLine(projectNameMaxLength, trimName).check(isVisibleName());

export const projectSchema = z
  .object({
    id: uuid(),
    key: z
      .string()
      .describe('The beginning of the keys of its issues. That of the default project is configured.')
      .meta({ example: 'APP' }),
    name: z.string(),
    is_default: z.boolean().describe('Whether it has the issues that are created without a project.'),
    visibility: z
      .enum(projectVisibilities)
      .describe(
        'Who reads its issues: `everyone`; `reporters`: members and staff, and others those that they reported or are assigned to; `members`: members and staff; `sealed`: members alone.',
      ),
    is_archived: z.boolean().describe('Whether it takes no further issues.'),
    mail_text: z
      .enum(projectMailTexts)
      .describe(
        'What mails about its issues contain: `full`: their texts; `title`: key and title; `none`: only the key. Mails are not sent yet.',
      ),
    version: z.int().positive().describe('Increases with each change.'),
    created_at: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.'),
  })
  .meta({ id: 'Project' });
export type Project = z.infer<typeof projectSchema>;

/** The project of an issue. */
export const issueProjectSchema = projectSchema
  .pick({ id: true, key: true, name: true, visibility: true })
  .meta({ id: 'IssueProject' });
export type IssueProject = z.infer<typeof issueProjectSchema>;

/** A filter of a list of issues by projects: keys, and with a hyphen before them those to exclude. */
export const projectFilter = oneOrMore(
  z
    .string()
    .regex(/^-?[A-Za-z][A-Za-z0-9]{0,9}$/)
    .toUpperCase(),
  ['the key of a project', 'one with "-" before it'],
);

/** POST /api/v1/projects/ */
export const createProjectSchema = z
  .object({
    key: projectKeyInput,
    name: projectName,
    visibility: visibility.optional().describe('`members` without it.'),
    mail_text: mailText.optional().describe('`title` without it.'),
  })
  .meta({ id: 'CreateProject' });
export type CreateProject = z.output<typeof createProjectSchema>;

/** PATCH /api/v1/projects/{key}/ */
export const updateProjectSchema = z
  .object({
    key: projectKeyInput
      .optional()
      .describe('The former key leads to the project for ever. That of the default project is configured.'),
    name: projectName.optional(),
    visibility: visibility.optional().describe('That of the default project is always `everyone`.'),
    is_archived: z
      .boolean()
      .optional()
      .describe('An archived project takes no further issues. The default project is never archived.'),
    mail_text: mailText.optional().describe('What mails about its issues contain.'),
    version: z.int().min(1).nullish().describe('The version on which the change is based.'),
  })
  .refine(({ version: _, ...change }) => Object.values(change).some((value) => value !== undefined), {
    error: 'must hold at least one of key, name, visibility, is_archived, mail_text',
  })
  .meta({ id: 'UpdateProject' });
export type UpdateProject = z.output<typeof updateProjectSchema>;

/** POST /api/v1/issues/{id}/move/ */
export const moveIssueSchema = z
  .object({ project: projectKeyInput.describe('The key of the project, present or former.') })
  .meta({ id: 'MoveIssue' });
