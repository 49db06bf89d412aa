import { afterEach, describe, expect, it } from '@jest/globals';
import { findUndocumentedCodes, forgetCodes, recordErrorCode } from '../src/error-codes.ts';

const record = (operationId: string, status: number, code: string) =>
  recordErrorCode({ operationId, status, body: JSON.stringify({ code }) });

describe('findUndocumentedCodes', () => {
  afterEach(forgetCodes);

  it('accepts the codes of an operation, those of every operation and those of operations with a token', () => {
    record('changeIssueStatus', 409, 'illegal_transition');
    record('changeIssueStatus', 500, 'internal_error');
    record('changeIssueStatus', 429, 'too_many_requests');
    record('signIn', 400, 'unsupported_grant_type');
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
});
