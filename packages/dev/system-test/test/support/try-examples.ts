import type { FakeTracker } from '@tessera/trackers/fakes';
import { z } from 'zod';
import { ExampleCaller } from './examples.ts';

const created = z.object({ id: z.string() });
const tokens = z.object({ access_token: z.string(), refresh_token: z.string() });
const clientOf = z.object({ client_id: z.string() });
const deliveryList = z.array(z.object({ id: z.int() })).min(1);
const listed = z.array(created).min(1);
const conflicts = z.object({ sync: z.object({ conflicts: listed }) });

// The documentation page cannot know ids, tokens and secrets, so these come from earlier responses and from here.
const webhookSecret = 'webhook-secret-of-the-tour';

/** The addresses of both services and the service token. */
interface Target {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
}

/** The variables with which issues has the fake GitLab as its tracker. */
export function trackerVariables({ url, token }: FakeTracker): Record<string, string> {
  return {
    TRACKER_PROVIDER: 'gitlab',
    TRACKER_URL: url,
    TRACKER_PROJECT: 'acme/website',
    TRACKER_TOKEN: token,
    TRACKER_ALLOW_HTTP: 'on',
    TRACKER_WEBHOOK_SECRET: webhookSecret,
    // Only the examples sync.
    SYNC_WORKERS: '0',
    TRACKER_WRITE_INTERVAL_MS: '0',
  };
}

/** Sends the examples of identity. @returns the operations that did not answer 2xx */
export async function unansweredByIdentity({ identityUrl, serviceToken }: Target): Promise<string[]> {
  const identity = await ExampleCaller.read(identityUrl, '/openapi.json');
  identity.credentials.serviceToken = { 'X-Service-Token': serviceToken };
  await tryIdentityExamples(identity);
  return identity.operationIds.filter((id) => !identity.answered.has(id));
}

/** Sends the examples of issues, as a superuser. @returns the operations that did not answer 2xx */
export async function unansweredByIssues(
  { identityUrl, issuesUrl, serviceToken }: Target,
  tracker: FakeTracker,
): Promise<string[]> {
  const issues = await ExampleCaller.read(issuesUrl, '/api/openapi.json');
  // The password that the example of a password change names.
  const { current_password: password } = issues.bodyOf('changeMyPassword');
  const email = 'examples@example.com';
  const send = async (path: string, body: object) => {
    const headers = { 'Content-Type': 'application/json', 'X-Service-Token': serviceToken };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${identityUrl}${path}`, init)).json();
  };
  await send('/internal/identities', { email, password, is_staff: true, is_superuser: true });
  const { access_token } = tokens.parse(await send('/token', { grant_type: 'password', email, password }));
  issues.credentials.accessToken = { Authorization: `Bearer ${access_token}` };
  for (let number = 1; number <= 17; number += 1) tracker.createIssue({ title: `A remote issue ${number}` });
  await tryIssuesExamples(issues);
  // The delivery to the example's endpoint stays pending for days, so that it cannot be sent again.
  return issues.operationIds.filter((id) => id !== 'redeliverWebhook' && !issues.answered.has(id));
}

/** Sends the example of each operation of identity, in an order in which the objects exist that the examples name. */
async function tryIdentityExamples(identity: ExampleCaller): Promise<void> {
  await identity.send('getLiveness');
  await identity.send('getReadiness');
  await identity.send('getDiscoveryDocument');
  await identity.send('getKeySet');
  const { id } = created.parse(await identity.send('createIdentity'));
  const parameters = { id };
  const first = tokens.parse(await identity.send('signIn'));
  identity.credentials.accessToken = { Authorization: `Bearer ${first.access_token}` };
  await identity.send('getUserInfo');
  await identity.send('postUserInfo');
  const second = tokens.parse(
    await identity.send('refreshTokens', { body: { refresh_token: first.refresh_token } }),
  );
  await identity.send('introspectToken');
  await identity.send('revokeToken', { body: { token: second.refresh_token } });
  await identity.send('listIdentities');
  await identity.send('getIdentity', { parameters });
  await identity.send('findIdentityByEmail');
  await identity.send('updateIdentity', { parameters });
  await identity.send('findIdentityBySso');
  await identity.send('signIn');
  const [session = { id: '' }] = listed.parse(await identity.send('listSessions', { parameters }));
  await identity.send('revokeSession', { parameters: { id, session_id: session.id } });
  await identity.send('revokeSessions', { parameters });
  await identity.send('changeIdentityPassword', { parameters });
  await identity.send('listAuditEvents');
  await identity.send('listIdentityEvents');
  await identity.send('deleteIdentity', { parameters });

  const client = clientOf.parse(await identity.send('createClient'));
  await identity.send('listClients');
  await identity.send('getClient', { parameters: client });
  await identity.send('updateClient', { parameters: client });
  await identity.send('rotateClientSecret', { parameters: client });
  await identity.send('disableClient', { parameters: client });
}

/** Sends the example of each operation of issues as a superuser. The tracker is a GitLab with an issue 17. */
async function tryIssuesExamples(issues: ExampleCaller): Promise<void> {
  await issues.send('getLiveness');
  await issues.send('getReadiness');
  await issues.send('createIssue');
  await issues.send('listIssues');
  await issues.send('listIssuePages');
  await issues.send('countIssues');
  await issues.send('describeIssues');
  await issues.send('getIssue');
  await issues.send('updateIssue');
  await issues.send('patchIssue');
  await issues.send('changeIssueStatus');
  await issues.send('changeIssues');
  const comment = created.parse(await issues.send('addComment'));
  await issues.send('listComments');
  const ofComment = { parameters: { comment_id: comment.id } };
  await issues.send('getComment', ofComment);
  await issues.send('updateComment', ofComment);
  await issues.send('deleteComment', ofComment);
  const link = created.parse(await issues.send('putLink'));
  await issues.send('deleteLink', { parameters: { link_id: link.id } });
  await issues.send('createIssue');
  const relation = created.parse(await issues.send('putRelation'));
  await issues.send('listRelations');
  await issues.send('deleteRelation', { parameters: { relation_id: relation.id } });
  await issues.send('listActivity');
  await issues.send('listEvents');
  await issues.send('streamEvents');
  const file = { parameters: { attachment_id: created.parse(await issues.send('uploadAttachment')).id } };
  await issues.send('getAttachment', file);
  await issues.send('getAttachmentContent', file);
  await issues.send('listAttachments');
  await issues.send('deleteAttachment', file);
  await issues.send('startWatching');
  await issues.send('getWatching');
  await issues.send('listWatching');
  await issues.send('stopWatching');
  await issues.send('listNotifications');
  await issues.send('markNotificationsRead');
  await issues.send('markNotificationsUnread');
  await issues.send('snoozeNotifications');
  await issues.send('markNotificationsDone');
  await issues.send('restoreNotifications');

  const parameters = { id: created.parse(await issues.send('createLabel')).id };
  await issues.send('listLabels');
  await issues.send('getLabel', { parameters });
  await issues.send('updateLabel', { parameters });
  await issues.send('deleteLabel', { parameters });

  const project = { parameters: { key: 'APP' } };
  await issues.send('createProject');
  await issues.send('listProjects');
  await issues.send('getProject', project);
  await issues.send('updateProject', project);
  await issues.send('moveIssue');
  // Only the default project is synced with the tracker.
  await issues.send('moveIssue', { body: { project: 'ISS' } });

  const view = { parameters: { id: created.parse(await issues.send('createView')).id } };
  await issues.send('listViews');
  await issues.send('getView', view);
  await issues.send('updateView', view);
  await issues.send('deleteView', view);

  const webhook = { id: created.parse(await issues.send('createWebhook')).id };
  await issues.send('listWebhooks');
  await issues.send('getWebhook', { parameters: webhook });
  await issues.send('updateWebhook', { parameters: webhook });
  await issues.send('rotateWebhookSecret', { parameters: webhook });
  await issues.send('testWebhook', { parameters: webhook });
  const deliveries = deliveryList.parse(await issues.send('listWebhookDeliveries', { parameters: webhook }));
  const delivery = { parameters: { ...webhook, delivery_id: String(deliveries[0]?.id) } };
  await issues.send('getWebhookDelivery', delivery);
  await issues.send('deleteWebhook', { parameters: webhook });

  await issues.send('listIntegrations');
  await issues.send('syncIssue');
  await issues.send('getSyncState');
  await issues.send('detachExternalIssue');
  await issues.send('attachExternalIssue');
  // The attached issue differs, which is a conflict.
  const { sync } = conflicts.parse(await issues.send('syncIssue'));
  await issues.send('resolveSyncConflict', { parameters: { conflict_id: sync.conflicts[0]?.id ?? '' } });
  await issues.send('retrySyncs');
  await issues.send('backfillSyncs');
  await issues.send('importIssues');
  await issues.send('getImport');
  await issues.send('takeWebhook', { parameters: { 'X-Gitlab-Token': webhookSecret } });

  const user = { parameters: { id: created.parse(await issues.send('createUser')).id } };
  await issues.send('listUsers');
  await issues.send('getUser', user);
  await issues.send('updateUser', user);
  await issues.send('patchUser', user);
  const member = { parameters: { key: 'APP', user_id: user.parameters.id } };
  await issues.send('putProjectMember', member);
  await issues.send('listProjectMembers', project);
  await issues.send('deleteProjectMember', member);
  await issues.send('listProjectActivity', project);
  await issues.send('deactivateUser', user);
  await issues.send('getMe');
  await issues.send('updateMe');
  await issues.send('changeMyPassword');
}
