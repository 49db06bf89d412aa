import { type Endpoint, endpoints } from '../contenders/endpoints.ts';
import { addComment, changeStatus, listChanged } from './sizing-endpoints.ts';

/** An operation of a daily user. */
export interface Operation {
  title: string;
  kind: 'sign-in' | 'refresh' | 'read' | 'write' | 'live';
  endpoint: Endpoint;
  /** The number of requests of a user in a day. Live reads follow from the writes of all users. */
  perDay: number;
}

export type OperationName =
  | 'sign-in'
  | 'refresh'
  | 'userinfo'
  | 'list'
  | 'get'
  | 'live'
  | 'create'
  | 'comment'
  | 'status';

/** The issues of a page of the list. */
export const listedIssues = 50;

/** The assumed day of a user, who has a browser open for four hours. */
export const operations: Record<OperationName, Operation> = {
  'sign-in': { title: 'sign in', kind: 'sign-in', endpoint: endpoints.token, perDay: 0.2 },
  refresh: { title: 'refresh the tokens', kind: 'refresh', endpoint: endpoints.refresh, perDay: 32 },
  userinfo: { title: 'read the own identity', kind: 'read', endpoint: endpoints.userinfo, perDay: 5 },
  list: {
    title: `list ${listedIssues} issues`,
    kind: 'read',
    endpoint: endpoints['list-issues'],
    perDay: 40,
  },
  get: { title: 'get an issue', kind: 'read', endpoint: endpoints['get-issue'], perDay: 60 },
  live: { title: 'read a changed issue', kind: 'live', endpoint: listChanged, perDay: 0 },
  create: { title: 'create an issue', kind: 'write', endpoint: endpoints['create-issue'], perDay: 0.5 },
  comment: { title: 'comment', kind: 'write', endpoint: addComment, perDay: 1.5 },
  status: { title: 'change the status', kind: 'write', endpoint: changeStatus, perDay: 1 },
};

export const operationNames = Object.keys(operations) as OperationName[];

/** The numbers of daily users in the table. */
export const sizes = [1_000, 10_000, 100_000] as const;

/** The share of the requests of a day that the busiest hour has. */
export const peakShare = 0.2;
/** The share of the daily users that have the web app open in the busiest hour. */
export const openShare = 0.3;
/** The web app waits at least this time between two reads of changed issues, once for each open list. */
export const pauseSeconds = 2;
/** The share of its processor time that a replica or a database uses in the busiest hour. */
export const usedShare = 0.5;
/** Files in use compared with the same tables after VACUUM FULL: dead rows and index pages that are not full. */
export const spareFactor = 4 / 3;
/** The PostgreSQL server of each service that the limits refer to. */
export const referenceServer = { cores: 4, gigabytes: 500 };

/**
 * The days after which a service deletes the rows of a table; undefined for rows that stay. Zero for tables whose size does
 * not depend on the number of requests.
 */
export const keptDays: Record<'identity' | 'issues', Record<string, number | undefined>> = {
  identity: {
    identities: 0,
    // The lifetimes of a session and of an unused refresh token, and a week.
    token_families: 37,
    refresh_tokens: 21,
    sign_in_counters: 0,
    audit_events: 400,
    events: 7,
  },
  issues: {
    issues: undefined,
    issue_search: undefined,
    comments: undefined,
    issue_links: undefined,
    issue_watchers: undefined,
    activity: undefined,
    notifications: 90,
    events: 7,
    idempotency_keys: 1,
    identity_mirror: 0,
    rate_limits: 0,
    event_readers: 0,
    mirror_feed: 0,
  },
};
