import { z } from 'zod';
import type { ExampleCaller } from './examples.ts';

const created = z.object({ id: z.string() });
const tokens = z.object({ access_token: z.string(), refresh_token: z.string() });
const deliveryList = z.array(z.object({ id: z.int() })).min(1);
const listed = z.array(created).min(1);
const conflicts = z.object({ sync: z.object({ conflicts: listed }) });

/** Sends the example of each operation of identity, in an order in which the objects exist that the examples name. */
export async function tryIdentityExamples(identity: ExampleCaller): Promise<void> {
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
}

/**
 * Sends the example of each operation of issues as a superuser. The tracker is a GitLab with an issue 17.
 * `webhookSecret`: the secret of its webhook.
 */
export async function tryIssuesExamples(issues: ExampleCaller, webhookSecret: string): Promise<void> {
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
  await issues.send('listActivity');
  await issues.send('listEvents');
  await issues.send('streamEvents');
  await issues.send('startWatching');
  await issues.send('getWatching');
  await issues.send('listWatching');
  await issues.send('stopWatching');
  await issues.send('listNotifications');
  await issues.send('markNotificationsRead');
  await issues.send('markNotificationsUnread');

  const parameters = { id: created.parse(await issues.send('createLabel')).id };
  await issues.send('listLabels');
  await issues.send('getLabel', { parameters });
  await issues.send('updateLabel', { parameters });
  await issues.send('deleteLabel', { parameters });

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
  await issues.send('deactivateUser', user);
  await issues.send('getMe');
  await issues.send('updateMe');
  await issues.send('changeMyPassword');
}
