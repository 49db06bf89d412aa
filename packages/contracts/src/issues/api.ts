import { z } from 'zod';
import { getLiveness, getReadiness } from '../health.ts';
import type { Api } from '../operation.ts';
import { listActivity } from './activity.ts';
import { addComment, getComment, listComments } from './comment.ts';
import {
  changeIssueStatus,
  createIssue,
  describeIssues,
  getIssue,
  listIssues,
  patchIssue,
  updateIssue,
} from './issue.ts';
import { deleteLink, putLink } from './issue-link.ts';
import {
  attachExternalIssue,
  detachExternalIssue,
  resolveSyncConflict,
  syncIssue,
  takeWebhook,
} from './sync.ts';
import { createUser, deactivateUser, getMe, getUser, listUsers, patchUser, updateUser } from './users.ts';

/** The API of the issues service, in the order of its document. */
export const issuesApi = {
  title: 'Tessera issues',
  version: '1.2.1',
  description:
    'The issue tracker. Sign in at the identity service and send its access token. Paths answer with and without the slash at their end. Additive changes only: clients ignore members that they do not know.',
  tags: ['Issues', 'Comments', 'Links', 'Activity', 'Sync', 'Users', 'Operations'],
  securitySchemes: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  secured: {
    headers: {
      'RateLimit-Policy': z
        .string()
        .optional()
        .describe('The limit: its name, `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers).'),
      RateLimit: z
        .string()
        .optional()
        .describe('What is left of it: `r` requests, whole again in `t` seconds.'),
    },
    problems: [429],
  },
  operations: [
    listIssues,
    describeIssues,
    createIssue,
    getIssue,
    updateIssue,
    patchIssue,
    changeIssueStatus,
    addComment,
    listComments,
    getComment,
    putLink,
    deleteLink,
    listActivity,
    syncIssue,
    resolveSyncConflict,
    attachExternalIssue,
    detachExternalIssue,
    takeWebhook,
    listUsers,
    getMe,
    getUser,
    createUser,
    updateUser,
    patchUser,
    deactivateUser,
    getLiveness,
    getReadiness,
  ],
} as const satisfies Api;
