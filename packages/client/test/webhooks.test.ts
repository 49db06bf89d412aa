import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { IssueEvent } from '@tessera/contracts';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookError } from '../src/webhooks.ts';

const secret = `whsec_${Buffer.from('a secret of the tests of 32 bytes').toString('base64')}`;
const otherSecret = `whsec_${Buffer.from('another secret of the tests').toString('base64')}`;
const event = {
  id: 17,
  type: 'issue.status_changed',
  timestamp: '2026-11-23T00:00:00.000Z',
  data: { issue_id: '01980c5e-0000-7000-8000-000000000001', issue_key: 'ISS-1', from: 'OPEN', to: 'CLOSED' },
};

/** Returns a signed request. */
function signed(body = JSON.stringify(event), { at = new Date(), with: key = secret } = {}) {
  const id = 'msg_1';
  return {
    body,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(key).sign(id, at, body),
    },
  };
}

function codeOf(verify: () => unknown): string | undefined {
  try {
    verify();
    return undefined;
  } catch (error) {
    if (error instanceof WebhookError) return error.code;
    throw error;
  }
}

describe('verifyWebhook', () => {
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/javascript/src/index.test.ts
  it('has the signature of the vector of the specification', () => {
    const body = '{"test": 2432232314}';
    const vector = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const signature = vector.sign('msg_p5jXN8AQM9LWM0D4loKWxJek', new Date(1614265330_000), body);
    expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
    const content = `msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.${body}`;
    expect(`v1,${createHmac('sha256', key).update(content).digest('base64')}`).toBe(signature);
  });

  it('returns the event of text and bytes, with headers of fetch and of Node', () => {
    const { body, headers } = signed(JSON.stringify({ ...event, data: { issue_key: 'Größe ✓' } }));
    const parsed = JSON.parse(body);
    for (const given of [body, new TextEncoder().encode(body), Buffer.from(body)])
      expect(verifyWebhook({ body: given, headers }, secret)).toEqual(parsed);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    for (const given of [new Headers(headers), upper, lists])
      expect(verifyWebhook({ body, headers: given }, secret)).toEqual(parsed);
  });

  it('accepts any of several secrets, and one of several signatures', () => {
    const { body, headers } = signed();
    expect(verifyWebhook({ body, headers }, [otherSecret, secret])).toEqual(event);
    const old = signed(body, { with: otherSecret }).headers['webhook-signature'];
    const both = { ...headers, 'webhook-signature': `v1a,x ${old} ${headers['webhook-signature']}` };
    expect(verifyWebhook({ body, headers: both }, secret)).toEqual(event);
    expect(codeOf(() => verifyWebhook({ body, headers }, [otherSecret]))).toBe('invalid_signature');
  });

  it('refuses every change of body, id, timestamp and signature', () => {
    const { body, headers } = signed();
    const at = (seconds: number) => new Date(Date.now() + seconds * 1000);
    const changes: [string, object | undefined, string?][] = [
      ['invalid_signature', undefined, `${body} `],
      ['invalid_signature', undefined, `\ufeff${body}`],
      ['invalid_signature', { 'webhook-id': 'msg_2' }],
      ['invalid_signature', { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }],
      ['invalid_signature', { 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }],
      ['invalid_signature', { 'webhook-signature': 'v1' }],
      ['invalid_signature', { 'webhook-signature': `${headers['webhook-signature']}A` }],
      ['invalid_timestamp', { 'webhook-timestamp': 'today' }],
      ['invalid_timestamp', signed(body, { at: at(-302) }).headers],
      ['invalid_timestamp', signed(body, { at: at(302) }).headers],
      ['missing_headers', { 'webhook-signature': '' }],
      ['missing_headers', { 'webhook-id': undefined }],
    ];
    for (const [code, change, text = body] of changes)
      expect([
        change,
        codeOf(() => verifyWebhook({ body: text, headers: { ...headers, ...change } }, secret)),
      ]).toEqual([change, code]);
    expect(verifyWebhook(signed(body, { at: at(-290) }), secret)).toEqual(event);
  });

  it('refuses a signed body that is no event, and returns an event of an unknown type', () => {
    for (const body of ['', 'x', 'null', '[]', '{"type":"a"}', '{"type":1,"timestamp":"x","data":{}}'])
      expect(codeOf(() => verifyWebhook(signed(body), secret))).toBe('invalid_body');
    const unknown = { ...event, type: 'issue.archived' };
    expect(verifyWebhook(signed(JSON.stringify(unknown)), secret)).toEqual(unknown);
  });

  it('throws a TypeError for a parsed body and for invalid secrets, without the secret', () => {
    const { body, headers } = signed();
    const parsed = JSON.parse(body);
    expect(() => verifyWebhook({ body: parsed, headers }, secret)).toThrow(TypeError);
    for (const wrong of [[], '', 'whsec_', 'whsec_not base64!'])
      expect(() => verifyWebhook({ body, headers }, wrong)).toThrow(TypeError);
    const key = (bytes: number) => `whsec_${Buffer.alloc(bytes, 0xff).toString('base64')}`;
    const bare = secret.slice('whsec_'.length);
    const refused = [
      ...[bare, `WHSEC_${bare}`, `${secret} `, `${secret}\n`, `whsec_${secret}`, key(25).replace('==', '')],
      ...[key(0), key(1), key(23), key(65), key(32).replaceAll('/', '_'), key(25).replace('w==', 'x==')],
      ...[undefined, null, 1, Buffer.alloc(32)],
    ];
    for (const wrong of refused as string[]) {
      expect(() => verifyWebhook({ body, headers }, wrong)).toThrow(TypeError);
      expect(() => verifyWebhook({ body, headers }, [secret, wrong])).toThrow(TypeError);
    }
    for (const bytes of [24, 25, 26, 32, 63, 64])
      expect(verifyWebhook(signed(body, { with: key(bytes) }), [secret, key(bytes)])).toEqual(event);
    expect(() => verifyWebhook({ body, headers }, 'whsec_not base64!')).not.toThrow(/not base64!/);
  });

  it('has types that tell the known events apart', () => {
    const statusOf = (given: IssueEvent): string => {
      if (given.type === 'issue.status_changed') return given.data.to;
      if (given.type === 'issue.updated') return given.data.changed.join();
      return String(given.type);
    };
    expect(statusOf(verifyWebhook(signed(), secret))).toBe('CLOSED');
  });
});
