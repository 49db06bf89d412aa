import { createHash } from 'node:crypto';
import {
  issuePriorities,
  issueStatuses,
  normalEmail,
  type SyncedField,
  syncedFields,
  trackerProviders,
} from '@tessera/contracts';
import { flag, integer } from '@tessera/service-kit';
import { z } from 'zod';
import { redmineWords } from '../trackers/redmine.tracker.ts';
import type { RedmineSettings, TrackerConfig } from '../trackers/tracker-config.ts';
import type { ConflictPolicies, ConflictPolicy } from './field-merge.ts';
import type { MappedAssignee } from './import.service.ts';
import type { SyncSchedule } from './sync-scheduler.ts';
import { sendsWebhooks } from './tracker-webhook.ts';

/** Secrets, which can also be read from files. */
export const trackerSecretNames = ['TRACKER_TOKEN', 'TRACKER_WEBHOOK_SECRET'] as const;

const policies = ['local', 'remote', 'newest', 'manual'] as const satisfies readonly ConflictPolicy[];
const secret = z.string().regex(/^[\x21-\x7e]{1,512}$/, { error: 'must be visible ASCII without spaces' });

/** The part of the environment schema that configures the external tracker. */
export const trackerVariables = {
  TRACKER_PROVIDER: z
    .enum(['none', ...trackerProviders], { error: `must be none, ${trackerProviders.join(', ')}` })
    .default('none'),
  TRACKER_URL: z
    .string()
    .regex(/^https?:\/\/[^\s?#@]+$/, {
      error: 'must be an http(s) URL without query, fragment and credentials',
    })
    .refine(URL.canParse, { error: 'must be an http(s) URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  TRACKER_ALLOW_HTTP: flag(false),
  TRACKER_PROJECT: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, { error: 'must be a project, such as owner/repository' })
    .refine((project) => !project.split('/').some((part) => /^\.+$/.test(part)), {
      error: 'must be a project, such as owner/repository',
    })
    .optional(),
  TRACKER_TOKEN: secret.optional(),
  TRACKER_WEBHOOK_SECRET: secret.min(16, { error: 'must be at least 16 characters' }).optional(),
  TRACKER_LOGIN: z.string().optional(),
  TRACKER_STATUSES: names(issueStatuses, redmineWords.statuses),
  TRACKER_PRIORITIES: names(issuePriorities, redmineWords.priorities),
  TRACKER_ASSIGNEES: z.string().default('').transform(parseAssignees),
  TRACKER_TYPE: z
    .string()
    .regex(/^[^\p{Cc}]{1,100}$/u, { error: 'must be the name of a tracker' })
    .optional(),
  TRACKER_CUSTOM_FIELDS: z.string().default('').transform(parseFields),
  TRACKER_DEADLINE_MS: integer({ min: 500, max: 60_000, default: 8_000 }),
  TRACKER_BREAK_MS: integer({ min: 100, max: 600_000, default: 30_000 }),
  TRACKER_SETTLE_SECONDS: z
    .string()
    .regex(/^\d{1,4}$/, { error: 'must be seconds' })
    .transform(Number)
    .optional(),
  TRACKER_WRITE_INTERVAL_MS: z
    .string()
    .regex(/^\d{1,5}$/, { error: 'must be milliseconds' })
    .transform(Number)
    .optional(),
  SYNC_CONFLICT_POLICY: z.string().default('local').transform(parsePolicies),
  SYNC_AUTO: z.enum(['off', 'linked', 'all'], { error: 'must be off, linked or all' }).default('off'),
  SYNC_WORKERS: integer({ min: 0, max: 16, default: 2 }),
  SYNC_POLL_MS: integer({ min: 100, max: 600_000, default: 5_000 }),
  SYNC_POLL_REMOTE_SECONDS: integer({ min: 0, max: 86_400, default: 60 }),
  SYNC_TIMEOUT_MS: integer({ min: 500, max: 600_000, default: 60_000 }),
  SYNC_RETRY_SECONDS: integer({ min: 1, max: 3_600, default: 30 }),
};

const environment = z.object(trackerVariables);
type TrackerEnvironment = z.output<typeof environment>;

const defaultUrls: Partial<Record<TrackerEnvironment['TRACKER_PROVIDER'], string>> = {
  github: 'https://api.github.com',
  gitlab: 'https://gitlab.com',
};

export interface TrackingConfig {
  tracker: TrackerConfig;
  /** Identifies the tracker's configuration. Failed syncs are retried when it changes. */
  fingerprint: string;
  webhookSecret: string | undefined;
  policies: ConflictPolicies;
  /** The local identities of the assignees of imported issues. */
  assignees: readonly MappedAssignee[];
  /** Time limit of a sync during a request, in milliseconds. */
  deadlineMs: number;
  /** Delay before the first retry in the background, in seconds. */
  retrySeconds: number;
  schedule: SyncSchedule;
}

/** Undefined if no tracker is configured. */
export function trackingConfig(read: TrackerEnvironment): TrackingConfig | undefined {
  const { TRACKER_PROVIDER: provider, TRACKER_PROJECT: project, TRACKER_TOKEN: token } = read;
  const url = read.TRACKER_URL ?? defaultUrls[provider];
  if (provider === 'none' || url === undefined || project === undefined || token === undefined)
    return undefined;
  const tracker = {
    provider,
    url,
    project,
    token,
    login: read.TRACKER_LOGIN,
    words: { statuses: read.TRACKER_STATUSES, priorities: read.TRACKER_PRIORITIES },
    redmine: { type: read.TRACKER_TYPE, customFields: read.TRACKER_CUSTOM_FIELDS },
    timeoutMs: read.TRACKER_DEADLINE_MS,
    breakMs: read.TRACKER_BREAK_MS,
    settleSeconds: read.TRACKER_SETTLE_SECONDS,
    writeIntervalMs: read.TRACKER_WRITE_INTERVAL_MS,
  };
  return {
    tracker,
    // Eight characters are too short to confirm a guess of the token.
    fingerprint: createHash('sha256').update(JSON.stringify(tracker)).digest('hex').slice(0, 8),
    webhookSecret: read.TRACKER_WEBHOOK_SECRET,
    policies: read.SYNC_CONFLICT_POLICY,
    assignees: read.TRACKER_ASSIGNEES,
    deadlineMs: read.TRACKER_DEADLINE_MS,
    retrySeconds: read.SYNC_RETRY_SECONDS,
    schedule: {
      pollMs: read.SYNC_POLL_MS,
      workers: read.SYNC_WORKERS,
      timeoutMs: read.SYNC_TIMEOUT_MS,
      autoSync: read.SYNC_AUTO,
      pollRemoteSeconds: read.SYNC_POLL_REMOTE_SECONDS,
    },
  };
}

/** Returns the problems of combinations of variables. */
export function trackerProblems(read: Partial<TrackerEnvironment>, isProduction: boolean): string[] {
  const { TRACKER_PROVIDER: provider = 'none', TRACKER_PROJECT: project } = read;
  if (provider === 'none') return [];
  const url = read.TRACKER_URL ?? defaultUrls[provider];
  const problems: string[] = [];
  if (url === undefined) problems.push(`TRACKER_URL: is required with ${provider}`);
  if (project === undefined) problems.push(`TRACKER_PROJECT: is required with ${provider}`);
  else if ((provider === 'github' || provider === 'gitea') && project.split('/').length !== 2)
    problems.push('TRACKER_PROJECT: must be owner/repository');
  if (read.TRACKER_TOKEN === undefined) problems.push(`TRACKER_TOKEN: is required with ${provider}`);
  if (isProduction && url?.startsWith('http:') && read.TRACKER_ALLOW_HTTP !== true)
    problems.push('TRACKER_URL: must be https in production, or TRACKER_ALLOW_HTTP on');
  if (read.TRACKER_WEBHOOK_SECRET !== undefined && !sendsWebhooks(provider))
    problems.push(`TRACKER_WEBHOOK_SECRET: ${provider} sends no signed webhooks`);
  return problems;
}

// Format: `local,status=remote`, a policy for all fields, then exceptions.
function parsePolicies(value: string, context: z.RefinementCtx): ConflictPolicies {
  const result: Record<SyncedField, ConflictPolicy> = {
    title: 'local',
    description: 'local',
    priority: 'local',
    status: 'local',
  };
  for (const part of value.split(',').map((one) => one.trim())) {
    const [first = '', second] = part.split('=');
    const policy = policies.find((one) => one === (second ?? first));
    const fields = second === undefined ? syncedFields : syncedFields.filter((field) => field === first);
    if (policy === undefined || fields.length === 0) {
      const message = `must be one of ${policies.join(', ')}, and may name fields: local,status=remote`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    for (const field of fields) result[field] = policy;
  }
  return result;
}

// Format: `octocat=ann@example.com,Jo Smith=01980c5e-…`, the account's name in the tracker and the local e-mail or id.
function parseAssignees(value: string, context: z.RefinementCtx): MappedAssignee[] {
  const entries = value.split(',').filter((part) => part.trim() !== '');
  const assignees = entries.flatMap((part): MappedAssignee[] => {
    const [name = '', person = ''] = part.split('=').map((one) => one.trim());
    if (name === '') return [];
    if (z.guid().safeParse(person).success) return [{ name, person: { id: person } }];
    return normalEmail(person) === undefined ? [] : [{ name, person: { email: person } }];
  });
  if (assignees.length === entries.length) return assignees;
  context.addIssue({ code: 'custom', message: 'must be like octocat=ann@example.com,Jo Smith=<id>' });
  return z.NEVER;
}

// Format: `5=web,7=A customer`, the id of each field in Redmine and its value in new issues.
function parseFields(value: string, context: z.RefinementCtx): RedmineSettings['customFields'] {
  const fields = value
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => /^\s*(\d{1,9})\s*=\s*(.*\S)\s*$/.exec(part))
    .map((match) => ({ id: Number(match?.[1] ?? 0), value: match?.[2] ?? '' }));
  if (fields.every(({ id }) => id > 0)) return fields;
  context.addIssue({ code: 'custom', message: 'must be like 5=web,7=A customer' });
  return z.NEVER;
}

// Format: `OPEN=New,IN_PROGRESS=Doing`. Omitted keys keep their default.
function names<Key extends string>(keys: readonly Key[], defaults: Readonly<Record<Key, string>>) {
  return z
    .string()
    .default('')
    .transform((value, context): Readonly<Record<Key, string>> => {
      const result: Record<Key, string> = { ...defaults };
      for (const part of value.split(',').filter((one) => one.trim() !== '')) {
        const [given = '', name = ''] = part.split('=').map((one) => one.trim());
        const key = keys.find((one) => one === given.toUpperCase());
        if (key === undefined || name === '') {
          context.addIssue({ code: 'custom', message: `must be like ${keys[0]}=Name,${keys[1]}=Name` });
          return z.NEVER;
        }
        result[key] = name;
      }
      return result;
    });
}
