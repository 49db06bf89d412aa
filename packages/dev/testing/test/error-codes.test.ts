import { afterEach, describe, expect, it } from '@jest/globals';
import { findUndocumentedCodes, forgetCodes, recordErrorCode } from '../src/error-codes.ts';

const record = (operationId: string, status: number, code: string, members: object = {}) => {
  const problem = {
    type: `/api/problems/${code}`,
    title: 'Error',
    status,
    detail: 'An error.',
    code,
    request_id: '1',
  };
  recordErrorCode({ operationId, status, body: JSON.stringify({ ...problem, ...members }) });
};
const oauth = { error: 'unsupported_grant_type', error_description: 'An error.' };
const attempt = { retry_scheduled: true, next_attempt_at: '2026-11-22T20:00:00.000Z' };

describe('findUndocumentedCodes', () => {
  afterEach(forgetCodes);

  it('accepts the codes of an operation, those of every operation and those of operations with a token', () => {
    record('changeIssueStatus', 409, 'illegal_transition');
    record('changeIssueStatus', 500, 'internal_error');
    record('changeIssueStatus', 429, 'too_many_requests');
    record('signIn', 400, 'unsupported_grant_type', oauth);
    recordErrorCode({ operationId: 'getReadiness', status: 503, body: '{"status":"not_ready"}' });
    expect(findUndocumentedCodes()).toEqual([]);
  });

  it('reports the code of another operation, another status, and a body without a code', () => {
    record('getIssue', 409, 'illegal_transition');
    record('changeIssueStatus', 422, 'illegal_transition');
    recordErrorCode({ operationId: 'getIssue', status: 404, body: '<p>Not found</p>' });
    expect(findUndocumentedCodes()).toEqual([
      'getIssue 409 illegal_transition',
      'changeIssueStatus 422 illegal_transition',
      'getIssue 404 without JSON',
    ]);
  });

  it('accepts the members of an error of the tracker in the operations that document them', () => {
    for (const operationId of ['syncIssue', 'attachExternalIssue', 'importIssues']) {
      record(operationId, 409, 'remote_gone', attempt);
      record(operationId, 409, 'remote_moved', { ...attempt, location: null });
      record(operationId, 422, 'tracker_rejected', { ...attempt, next_attempt_at: null });
      record(operationId, 502, 'tracker_unavailable', attempt);
      record(operationId, 503, 'tracker_rate_limited', attempt);
      record(operationId, 504, 'tracker_timeout', attempt);
    }
    expect(findUndocumentedCodes()).toEqual([]);
  });

  it('reports an undocumented member and an invalid value', () => {
    record('getIssue', 404, 'issue_not_found', { retry_scheduled: true });
    record('syncIssue', 502, 'tracker_unavailable', { ...attempt, attempts: 3 });
    record('syncIssue', 504, 'tracker_timeout', { retry_scheduled: 'soon' });
    record('refreshTokens', 401, 'invalid_grant', { error: 'invalid_grant' });
    expect(findUndocumentedCodes()).toEqual([
      'getIssue 404 issue_not_found Unrecognized key: "retry_scheduled" at /',
      'syncIssue 502 tracker_unavailable Unrecognized key: "attempts" at /',
      'syncIssue 504 tracker_timeout Invalid input: expected boolean, received string at /retry_scheduled',
      'refreshTokens 401 invalid_grant Invalid input: expected string, received undefined at /error_description',
    ]);
  });
});
