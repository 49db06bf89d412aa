import { expect } from '@jest/globals';
import type { Integration, Issue } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import { checkOf, integrationsPath } from './integrations.ts';
import { issuePath } from './issues.ts';
import type { TestPerson } from './people.ts';
import type { TestApp } from './test-app.ts';

interface Advice {
  /** The status of the response to a sync request. */
  status: number;
  code: string;
  /** The advice in the response and in the log. */
  says: RegExp;
  /** The failed check of the integration and its advice; absent for a problem of a single issue. */
  check?: { name: Parameters<typeof checkOf>[1]; says: RegExp };
}

/** Syncs an issue, and expects the advice in the response, in the log and in the check of the integration. */
export async function expectAdvice(
  app: TestApp,
  staff: TestPerson,
  issue: Issue,
  { status, code, says, check }: Advice,
): Promise<void> {
  const client = staff.on(app);
  const response = await client.post(issuePath(issue, 'sync/'));
  expectProblem(response, status, code);
  expect(`${response.body.detail} ${JSON.stringify(response.body.errors ?? [])}`).toMatch(says);
  const [line] = app.log.filter((one) => one.includes(issue.id) && one.includes('"sync failed"'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ code });
  expect(line).toMatch(says);
  const { body } = await client.get(integrationsPath).expect(200);
  const integration: Integration = body[0];
  const failed = integration.failed_syncs.find(({ last_error }) => last_error === code);
  expect(failed?.count).toBeGreaterThan(0);
  if (check === undefined) {
    expect(integration.state).toBe('ok');
    expect(failed?.detail).toMatch(says);
    return;
  }
  expect(checkOf(integration, check.name)).toMatchObject({
    status: 'failed',
    detail: expect.stringMatching(check.says),
  });
  expect(app.log.join('')).toMatch(check.says);
}
