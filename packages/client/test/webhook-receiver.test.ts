import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createReceiver } from '../examples/webhook-receiver.ts';

const secret = `whsec_${Buffer.from('the secret of the receiver').toString('base64')}`;
const previous = `whsec_${Buffer.from('the secret before that of now').toString('base64')}`;
const handled: (number | string)[] = [];
let failures = 0;
const receiver = createReceiver([secret, previous], async ({ id, type }) => {
  if (failures > 0) {
    failures -= 1;
    throw new Error('The database is down.');
  }
  handled.push(id ?? type);
});
let url: string;

beforeAll(async () => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const address = receiver.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  url = `http://127.0.0.1:${address.port}/`;
});
afterAll(() => void receiver.close());

const data = { issue_id: '01980c5e-0000-7000-8000-000000000001', issue_key: 'ISS-1' };

/** Delivers an event. Returns the status of the response. */
async function deliver(
  id: number,
  { key = secret, event = { id, type: 'issue.created', data } as object } = {},
): Promise<number> {
  const at = new Date();
  const body = JSON.stringify({ ...event, timestamp: at.toISOString() });
  const headers = {
    'webhook-id': `msg_${id}`,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign(`msg_${id}`, at, body),
  };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

describe('the receiver of webhooks', () => {
  it('handles each event once over parallel and later attempts, and again after a failure', async () => {
    expect(await Promise.all([deliver(1), deliver(1, { key: previous })])).toEqual([204, 204]);
    expect(await deliver(1)).toBe(204);
    failures = 1;
    expect([await deliver(2), await deliver(2)]).toEqual([500, 204]);
    expect(handled).toEqual([1, 2]);
  });

  it('handles each of two tests, which have no id', async () => {
    const event = { type: 'webhook.test', data: { webhook_id: '01980c5e-0000-7000-8000-000000000002' } };
    expect([await deliver(4, { event }), await deliver(5, { event }), await deliver(5, { event })]).toEqual([
      204, 204, 204,
    ]);
    expect(handled).toEqual([1, 2, 'webhook.test', 'webhook.test']);
  });

  it('refuses a request with another secret', async () => {
    const other = `whsec_${Buffer.from('another secret of 24 bytes or more').toString('base64')}`;
    expect(await deliver(3, { key: other })).toBe(400);
    expect(handled).not.toContain(3);
  });

  it('is the one in the guide to webhooks', () => {
    const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
    expect(read('../../../docs/issues/webhooks.md')).toContain(
      `\`\`\`ts\n${read('../examples/webhook-receiver.ts')}\`\`\`\n`,
    );
  });
});
