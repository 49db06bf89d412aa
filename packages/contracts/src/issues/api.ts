import { z } from 'zod';
import { listEvents } from '../event.operations.ts';
import { issueEvents } from '../event.schemas.ts';
import { streamEvents } from '../event-stream.operations.ts';
import { getLiveness, getReadiness } from '../health.operations.ts';
import type { Api } from '../operation.ts';
import { transportErrors } from '../problem.schemas.ts';
import { listActivity } from './activity.operations.ts';
import {
  deleteAttachment,
  getAttachment,
  getAttachmentContent,
  listAttachments,
  uploadAttachment,
} from './attachment.operations.ts';
import { changeIssues } from './bulk.operations.ts';
import { addComment, deleteComment, getComment, listComments, updateComment } from './comment.operations.ts';
import {
  changeIssueStatus,
  countIssues,
  createIssue,
  describeIssues,
  getIssue,
  listIssuePages,
  listIssues,
  patchIssue,
  updateIssue,
} from './issue.operations.ts';
import { deleteLink, putLink } from './issue-link.operations.ts';
import { createLabel, deleteLabel, getLabel, listLabels, updateLabel } from './label.operations.ts';
import {
  listNotifications,
  markNotificationsDone,
  markNotificationsRead,
  markNotificationsUnread,
  restoreNotifications,
  snoozeNotifications,
} from './notification.operations.ts';
import { positionResponseHeader } from './operation-parts.schemas.ts';
import { createProject, getProject, listProjects, moveIssue, updateProject } from './project.operations.ts';
import {
  deleteProjectMember,
  listProjectActivity,
  listProjectMembers,
  putProjectMember,
} from './project-member.operations.ts';
import { deleteRelation, listRelations, putRelation } from './relation.operations.ts';
import { backfillSyncs, getImport, importIssues } from './tracker-import.operations.ts';
import {
  attachExternalIssue,
  detachExternalIssue,
  getSyncState,
  listIntegrations,
  resolveSyncConflict,
  retrySyncs,
  syncIssue,
} from './tracker-sync.operations.ts';
import { takeWebhook } from './tracker-webhook.operations.ts';
import {
  changeMyPassword,
  createUser,
  deactivateUser,
  getMe,
  getUser,
  listUsers,
  patchUser,
  updateMe,
  updateUser,
} from './user.operations.ts';
import { createView, deleteView, getView, listViews, updateView } from './view.operations.ts';
import { getWatching, listWatching, startWatching, stopWatching } from './watching.operations.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  getWebhookDelivery,
  listWebhookDeliveries,
  listWebhooks,
  redeliverWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhook.operations.ts';

/** The API of the issues service, in the order of its document. */
export const issuesApi = {
  title: 'Tessera issues',
  version: '1.5.0',
  description: `The issue tracker. Requests need an access token of the identity service. Paths work with and without a trailing slash, in upper and lower case. Every response to an identified caller has \`RateLimit\`, errors included. ${transportErrors} Only additive changes: clients ignore unknown members.`,
  tags: {
    Issues: 'Issues and their workflow.',
    Comments: 'Comments of an issue.',
    Relations: 'Relations between issues.',
    Links: 'Links of an issue to objects of other systems.',
    Attachments: 'Files of issues.',
    Labels: 'Names and colours that issues are marked with.',
    Projects: 'Parts of the tracker, whose keys begin those of their issues.',
    Views: 'Names for filters and order of a list.',
    Watching: 'The issues that a person follows.',
    Notifications: 'What happened to the issues that a person follows.',
    Activity: 'The history of an issue, which is never changed.',
    Events: 'The changes of all issues, for programs that follow them.',
    Webhooks: 'Endpoints of other systems, to which the service sends its events.',
    Sync: 'Synchronisation with the external tracker.',
    Users: 'People, as the identity service has them.',
    Operations: 'Health of the service.',
  },
  securitySchemes: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  secured: {
    headers: {
      ...positionResponseHeader,
      'RateLimit-Policy': z
        .string()
        .optional()
        .describe('The quota: its name, `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers).'),
      RateLimit: z.string().optional().describe('The remaining quota: `r` requests, reset in `t` seconds.'),
    },
    problems: [429],
  },
  operations: [
    listIssues,
    listIssuePages,
    countIssues,
    describeIssues,
    createIssue,
    getIssue,
    updateIssue,
    patchIssue,
    changeIssueStatus,
    changeIssues,
    addComment,
    listComments,
    getComment,
    updateComment,
    deleteComment,
    putLink,
    deleteLink,
    listRelations,
    putRelation,
    deleteRelation,
    uploadAttachment,
    getAttachment,
    getAttachmentContent,
    deleteAttachment,
    listAttachments,
    listActivity,
    listEvents,
    streamEvents,
    getWatching,
    startWatching,
    stopWatching,
    listWatching,
    listNotifications,
    markNotificationsRead,
    markNotificationsUnread,
    markNotificationsDone,
    restoreNotifications,
    snoozeNotifications,
    listLabels,
    createLabel,
    getLabel,
    updateLabel,
    deleteLabel,
    listProjects,
    createProject,
    getProject,
    updateProject,
    listProjectMembers,
    putProjectMember,
    deleteProjectMember,
    listProjectActivity,
    moveIssue,
    listViews,
    createView,
    getView,
    updateView,
    deleteView,
    listWebhooks,
    createWebhook,
    getWebhook,
    updateWebhook,
    deleteWebhook,
    rotateWebhookSecret,
    testWebhook,
    listWebhookDeliveries,
    getWebhookDelivery,
    redeliverWebhook,
    getSyncState,
    syncIssue,
    resolveSyncConflict,
    attachExternalIssue,
    detachExternalIssue,
    listIntegrations,
    retrySyncs,
    importIssues,
    getImport,
    backfillSyncs,
    takeWebhook,
    listUsers,
    getMe,
    updateMe,
    changeMyPassword,
    getUser,
    createUser,
    updateUser,
    patchUser,
    deactivateUser,
    getLiveness,
    getReadiness,
  ],
  sentEvents: issueEvents,
} as const satisfies Api;
