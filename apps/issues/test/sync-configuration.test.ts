import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../src/config.ts';

const complete = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgresql://issues@localhost/issues',
  SERVICE_TOKEN: 'a-service-token-of-thirty-two-chars-or-more',
  IDENTITY_URL: 'https://id.example',
  JWT_ISSUER: 'https://id.example',
  PUBLIC_BASE_URL: 'https://issues.example',
};
const redmine = {
  TRACKER_PROVIDER: 'redmine',
  TRACKER_URL: 'https://redmine.example/',
  TRACKER_PROJECT: 'website',
  TRACKER_TOKEN: 'the-key-of-the-tracker',
};
const load = (tracker: Record<string, string>) => loadConfig({ ...complete, ...tracker }).tracking;

function problems(tracker: Record<string, string>): string {
  try {
    load(tracker);
    return '';
  } catch (error) {
    return String(error);
  }
}

describe('the configuration of the tracker', () => {
  it('is undefined without a provider', () => {
    expect(load({})).toBeUndefined();
    expect(load({ ...redmine, TRACKER_PROVIDER: 'none' })).toBeUndefined();
  });

  it('has default words and limits', () => {
    expect(load(redmine)).toMatchObject({
      tracker: {
        provider: 'redmine',
        url: 'https://redmine.example',
        project: 'website',
        words: { statuses: { OPEN: 'New', REOPENED: 'Feedback' }, priorities: { CRITICAL: 'Immediate' } },
      },
      policies: { title: 'local', description: 'local', priority: 'local', status: 'local' },
      deadlineMs: 8_000,
      schedule: { autoSync: 'off', workers: 2 },
    });
    expect(
      load({ ...redmine, TRACKER_PROVIDER: 'github', TRACKER_PROJECT: 'o/r', TRACKER_URL: '' }),
    ).toMatchObject({
      tracker: { url: 'https://api.github.com' },
    });
  });

  it('accepts custom words and policies', () => {
    const own = load({
      ...redmine,
      TRACKER_STATUSES: 'in_progress=Doing, CLOSED=Done',
      TRACKER_PRIORITIES: 'LOW=Whenever',
      TRACKER_TYPE: 'Support',
      TRACKER_CUSTOM_FIELDS: '5=web, 7=A customer',
      SYNC_CONFLICT_POLICY: 'manual, status=remote',
    });
    expect(own?.tracker.words).toMatchObject({
      statuses: { OPEN: 'New', IN_PROGRESS: 'Doing', CLOSED: 'Done' },
      priorities: { LOW: 'Whenever', HIGH: 'High' },
    });
    expect(own?.tracker.redmine).toEqual({
      type: 'Support',
      customFields: [
        { id: 5, value: 'web' },
        { id: 7, value: 'A customer' },
      ],
    });
    expect(own?.policies).toEqual({
      title: 'manual',
      description: 'manual',
      priority: 'manual',
      status: 'remote',
    });
  });

  it.each([
    [{ TRACKER_PROVIDER: 'jira' }, /TRACKER_PROVIDER: must be none, redmine, github, gitlab, gitea/],
    [{ TRACKER_URL: '' }, /TRACKER_URL: is required with redmine/],
    [{ TRACKER_URL: 'http://redmine.example' }, /TRACKER_URL: must be https in production/],
    [{ TRACKER_URL: 'https://ann:pw@redmine.example' }, /TRACKER_URL: must be an http\(s\) URL/],
    [{ TRACKER_PROJECT: '' }, /TRACKER_PROJECT: is required/],
    [{ TRACKER_PROJECT: '../admin', TRACKER_PROVIDER: 'gitea' }, /TRACKER_PROJECT: must be/],
    [
      { TRACKER_PROVIDER: 'github', TRACKER_PROJECT: 'website' },
      /TRACKER_PROJECT: must be owner\/repository/,
    ],
    [{ TRACKER_TOKEN: '' }, /TRACKER_TOKEN: is required/],
    [{ TRACKER_TOKEN: 'two words' }, /TRACKER_TOKEN: must be visible ASCII/],
    [
      { TRACKER_WEBHOOK_SECRET: 'a-long-enough-secret' },
      /TRACKER_WEBHOOK_SECRET: redmine sends no signed webhooks/,
    ],
    [
      { TRACKER_PROVIDER: 'gitlab', TRACKER_WEBHOOK_SECRET: 'short' },
      /TRACKER_WEBHOOK_SECRET: must be at least 16/,
    ],
    [{ TRACKER_STATUSES: 'DONE=Done' }, /TRACKER_STATUSES: must be like OPEN=Name/],
    [{ TRACKER_CUSTOM_FIELDS: 'Area=web' }, /TRACKER_CUSTOM_FIELDS: must be like 5=web/],
    [{ SYNC_CONFLICT_POLICY: 'mine' }, /SYNC_CONFLICT_POLICY: must be one of local, remote, newest, manual/],
    [{ SYNC_CONFLICT_POLICY: 'local,colour=remote' }, /SYNC_CONFLICT_POLICY: must be one of/],
    [{ SYNC_AUTO: 'yes' }, /SYNC_AUTO: must be off, linked or all/],
    [{ TRACKER_DEADLINE_MS: 'soon' }, /TRACKER_DEADLINE_MS: must be an integer/],
  ])('rejects %j with the name of the variable', (overrides, message) => {
    const said = problems({ ...redmine, ...overrides });
    expect(said).toMatch(message);
    expect(said).not.toContain(redmine.TRACKER_TOKEN);
    expect(said).not.toContain('a-long-enough-secret');
  });

  it('accepts http in production with TRACKER_ALLOW_HTTP', () => {
    const url = 'http://redmine.internal';
    expect(load({ ...redmine, TRACKER_URL: url, TRACKER_ALLOW_HTTP: 'on' })?.tracker.url).toBe(url);
  });
});
