import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { httpClient, type Stack, startStack } from '@tessera/stack';
import { decodeProtectedHeader } from 'jose';
import { createTable, PageTable } from '../src/clients/client-table.ts';
import type { Target } from '../src/clients/outcome.ts';
import { runNpmClients } from '../src/clients/programs.ts';
import { runInBothSettings } from '../src/clients/run-in-both-settings.ts';

const readme = new PageTable().read();

it('standard clients have the results in docs/identity/clients.md, and issues accepts access tokens only, of both types', async () => {
  const stack = await startStack();
  const answers: object[] = [];
  const outcomes = await runInBothSettings(stack, async (target) => {
    answers.push(await answersOfIssues(stack, target));
    return runNpmClients(target);
  });
  await stack.stop();
  const { rows, lines } = createTable(outcomes);
  expect(answers).toEqual([
    { typ: 'at+jwt', access: 200, refresh: 401 },
    { typ: 'JWT', access: 200, refresh: 401 },
  ]);
  expect(rows).toHaveLength(9);
  expect(rows).toEqual(readme.rows.slice(0, rows.length));
  expect(lines).toEqual(readme.lines.slice(0, lines.length));
  const others = readme.rows.slice(rows.length).map(([client]) => client);
  expect(others).toEqual([
    expect.stringMatching(/^Authlib /),
    expect.stringMatching(/^PyJWT /),
    expect.stringMatching(/^go-oidc /),
  ]);
});

it('every line in docs/identity/clients.md is a line of the code that ran', () => {
  const folder = new URL('../src/clients/', import.meta.url);
  const source = readdirSync(folder).map((file) =>
    withoutBlanks(readFileSync(new URL(file, folder), 'utf8')),
  );
  for (const line of readme.lines) {
    // As text for the table, and as code.
    expect([line, source.join().split(withoutBlanks(line)).length - 1]).toEqual([line, 2]);
  }
});

async function answersOfIssues({ urls }: Stack, { email, password }: Target) {
  const { data } = await httpClient(urls.identity).post('/token', {
    grant_type: 'password',
    email,
    password,
  });
  const ask = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    return (await httpClient(urls.issues, { headers }).get('/api/v1/issues/')).status;
  };
  return {
    typ: decodeProtectedHeader(data.access_token).typ,
    access: await ask(data.access_token),
    refresh: await ask(data.refresh_token),
  };
}

function withoutBlanks(code: string): string {
  return code.replace(/\s+/g, '').replace(/,(?=[)}\]])/g, '');
}
