import { z } from 'zod';
import { ignoredFieldsHeader, nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { memberProjectsMax, projectKeyInput, projectMembersMax } from './project.schemas.ts';
import {
  projectActivitySchema,
  projectMemberSchema,
  putProjectMemberSchema,
} from './project-member.schemas.ts';

const path = '/api/v1/projects/:key/';
const common = { tags: ['Projects'], security: ['accessToken'] };
const params = z.object({ key: projectKeyInput.describe('The key, present or former.') });
const memberParams = params.extend({ user_id: uuid().describe('The id of the person.') });
const projectNotFound = { status: 404, codes: ['project_not_found'] } as const;

export const listProjectMembers = operation({
  id: 'listProjectMembers',
  ...common,
  method: 'GET',
  path: `${path}members/`,
  summary: 'List the members of a project',
  description:
    'For all who read all of its issues. Sorted by the id of the person. Follow `Link` for further pages.',
  params,
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of members.', schema: z.array(projectMemberSchema), headers: nextLinkHeader },
  },
  problems: [401, 403, projectNotFound, 422],
});

export const putProjectMember = operation({
  id: 'putProjectMember',
  ...common,
  method: 'PUT',
  path: `${path}members/:user_id/`,
  summary: 'Add a member, or change the role of one',
  description: `For managers of the project and staff, but of a \`sealed\` project for its managers, and for superusers about themselves: so they join it, which its members see. The same role changes nothing. At most ${projectMembersMax} members of a project, and ${memberProjectsMax} memberships of a person in projects that are not open to everyone.`,
  params: memberParams,
  body: { schema: putProjectMemberSchema, example: { role: 'member' } },
  responses: {
    200: { description: 'The member.', schema: projectMemberSchema, headers: ignoredFieldsHeader },
    201: { description: 'The new member.', schema: projectMemberSchema, headers: ignoredFieldsHeader },
  },
  problems: [
    401,
    403,
    projectNotFound,
    {
      status: 409,
      codes: ['last_manager', 'too_many_members'],
      description:
        '`last_manager`: the project would have no manager; `too_many_members`: it has as many members as possible.',
    },
    {
      status: 422,
      codes: ['validation_failed', 'unknown_identity', 'too_many_projects'],
      description:
        '`unknown_identity`: no such person; `too_many_projects`: the person is a member of as many projects as possible.',
    },
    {
      status: 503,
      codes: ['identity_unavailable'],
      description: '`identity_unavailable`, or the database is unavailable.',
    },
  ],
});

export const deleteProjectMember = operation({
  id: 'deleteProjectMember',
  ...common,
  method: 'DELETE',
  path: `${path}members/:user_id/`,
  summary: 'Remove a member',
  description:
    'For managers of the project and staff, but of a `sealed` project for its managers; each member may leave. Within 5 seconds the person sees no issue, event or notification of the project any more.',
  params: memberParams,
  responses: { 204: { description: 'The person is no member.' } },
  problems: [
    401,
    403,
    { status: 404, codes: ['project_not_found', 'member_not_found'] },
    { status: 409, codes: ['last_manager'], description: 'The project would have no manager.' },
    422,
  ],
});

export const listProjectActivity = operation({
  id: 'listProjectActivity',
  ...common,
  method: 'GET',
  path: `${path}activity/`,
  summary: 'List the history of a project',
  description:
    'Who changed the project, its members or who reads it; the newest first. For all who read all of its issues. Follow `Link` for further pages.',
  params,
  query: pageQuerySchema,
  responses: {
    200: {
      description: 'A page of the history.',
      schema: z.array(projectActivitySchema),
      headers: nextLinkHeader,
    },
  },
  problems: [401, 403, projectNotFound, 422],
});
