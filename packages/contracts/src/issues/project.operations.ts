import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { issueSchema } from './issue-response.schemas.ts';
import {
  idempotencyHeaders,
  ifMatchProblem,
  etagHeader as issueEtagHeader,
  issueNotFound,
  issueParams,
  issuesPath,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';
import {
  createProjectSchema,
  memberProjectsMax,
  moveIssueSchema,
  projectKeyInput,
  projectKeysMax,
  projectSchema,
  projectsMax,
  updateProjectSchema,
} from './project.schemas.ts';

const path = '/api/v1/projects/';
const common = { tags: ['Projects'], security: ['accessToken'] };
const params = z.object({ key: projectKeyInput.describe('The key, present or former.') });
const etagHeader = { ETag: z.string().describe('Strong ETag of the response.') };
const project = { description: 'The project.', schema: projectSchema, headers: etagHeader };
const notModified = { description: 'Not modified.', headers: etagHeader };
const conditionalHeaders = z.object({ 'If-None-Match': z.string().optional() });
const projectNotFound = { status: 404, codes: ['project_not_found'] } as const;

export const listProjects = operation({
  id: 'listProjects',
  ...common,
  method: 'GET',
  path,
  summary: 'List the projects',
  description: `All projects of which the caller may read issues (at most ${projectsMax}), the default one first, then by key, on one page.`,
  query: z.strictObject({}),
  headers: conditionalHeaders,
  responses: {
    200: {
      description: 'The projects.',
      schema: z.array(projectSchema).max(projectsMax),
      headers: etagHeader,
    },
    304: notModified,
  },
  problems: [401, unverifiedProblem, 422],
});

export const createProject = operation({
  id: 'createProject',
  ...common,
  method: 'POST',
  path,
  summary: 'Create a project',
  description: `For staff. The creator is its first manager. A key that a project has or had is taken for ever. There are at most ${projectsMax} projects. Who is a member of ${memberProjectsMax} projects that are not open to everyone creates only open ones.`,
  headers: idempotencyHeaders,
  body: { schema: createProjectSchema, example: { key: 'APP', name: 'Mobile app' } },
  responses: {
    201: {
      ...project,
      headers: { ...etagHeader, ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    403,
    {
      status: 409,
      codes: ['project_key_taken', 'too_many_projects', 'request_in_progress'],
      description:
        '`project_key_taken`: a project has or had this key; `too_many_projects`; `request_in_progress`: a request with the same key is in progress.',
    },
    {
      status: 422,
      codes: ['validation_failed', 'too_many_projects', keyReusedCode],
      description: '`too_many_projects`: the caller is a member of as many projects as possible.',
    },
  ],
});

export const getProject = operation({
  id: 'getProject',
  ...common,
  method: 'GET',
  path: `${path}:key/`,
  summary: 'Read a project',
  description: 'By its key, or by one that it had.',
  params,
  headers: conditionalHeaders,
  responses: { 200: project, 304: notModified },
  problems: [401, unverifiedProblem, projectNotFound, 422],
});

export const updateProject = operation({
  id: 'updateProject',
  ...common,
  method: 'PATCH',
  path: `${path}:key/`,
  summary: 'Change a project',
  description: `For its managers and for staff, but of a \`sealed\` project for its managers. Only given members change. With a new key, its issues have new keys at once, and the former ones lead to them for ever; a project has at most ${projectKeysMax} keys. Equal values change nothing.`,
  params,
  headers: z.object({
    'If-Match': z
      .string()
      .optional()
      .describe('The ETag of the project on which the change is based. Compared strongly (RFC 9110 13.1.1).'),
  }),
  body: { schema: updateProjectSchema, example: { name: 'Apps', version: 1 } },
  responses: { 200: { ...project, headers: { ...etagHeader, ...ignoredFieldsHeader } } },
  problems: [
    ifMatchProblem,
    401,
    403,
    projectNotFound,
    {
      status: 409,
      codes: ['version_conflict', 'project_key_taken', 'last_manager'],
      description:
        '`version_conflict`: nothing was changed; `project` is the current project. `project_key_taken`: another project has or had this key. `last_manager`: a `sealed` project needs a manager.',
      members: { project: projectSchema },
    },
    {
      status: 412,
      codes: ['precondition_failed'],
      description: 'The project has been changed since the ETag in `If-Match`.',
    },
    422,
  ],
});

export const moveIssue = operation({
  id: 'moveIssue',
  tags: ['Projects'],
  security: ['accessToken'],
  method: 'POST',
  path: `${issuesPath}/:id/move/`,
  summary: 'Move an issue to another project',
  description:
    'For those who may change the issue and create issues in the project. Its number stays; all its former keys lead to it for ever. The history and the comments move with it. The project that it has is accepted and changes nothing.',
  params: issueParams,
  headers: idempotencyHeaders,
  body: { schema: moveIssueSchema, example: { project: 'APP' } },
  responses: {
    200: {
      description: 'The issue.',
      schema: issueSchema,
      headers: { ...issueEtagHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    403,
    issueNotFound,
    {
      status: 409,
      codes: ['project_archived', 'tracker_linked', 'request_in_progress'],
      description:
        '`project_archived`; `tracker_linked`: the issue has a remote issue, so detach that first; `request_in_progress`.',
    },
    { status: 422, codes: ['validation_failed', keyReusedCode] },
  ],
});
