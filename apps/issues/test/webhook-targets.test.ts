import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../src/config.ts';
import { ForbiddenTarget, WebhookTargets } from '../src/webhooks/webhook-target.ts';
import { testEnvironment } from './support/environment.ts';

/** Names that the resolver of these tests knows. */
const names: Record<string, string[]> = {
  'public.example': ['203.0.114.7'],
  'inside.example': ['10.0.0.5'],
  'both.example': ['203.0.114.7', '127.0.0.1'],
  'six.example': ['::1'],
  'none.example': [],
};

function targets(options: { allowsHttp?: boolean; allowedNetworks?: string[] } = {}) {
  return new WebhookTargets({
    allowsHttp: false,
    allowedNetworks: [],
    resolve: async (host) =>
      (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    ...options,
  });
}

const internal = [
  // Spellings of 127.0.0.1.
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127.0.0.1./',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://a.localhost/',
  // Other internal IPv4 addresses.
  'https://0.0.0.0/',
  'https://0/',
  'https://10.1.2.3/',
  'https://100.64.0.1/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
  'https://169.254.169.254/latest/meta-data/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://192.0.0.192/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  // IPv6, also with an IPv4 address inside.
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::a00:1]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:4860:0:0:0:5efe:127.0.0.1]/',
  'https://[2001:4860:1:2:200:5efe:127.0.0.1]/',
  'https://[2001::1]/',
  'https://[2001:db8::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
];
const malformed = [
  'http://public.example/',
  'ftp://public.example/',
  'file:///etc/passwd',
  'gopher://public.example/',
  'javascript:alert(1)',
  '//public.example/',
  'public.example',
  'https://user@public.example/',
  'https://user:secret@public.example/',
  'https://',
  'https://256.256.256.256/',
];

describe('the targets of webhooks', () => {
  it.each([...internal, ...malformed])('do not include %s', async (url) => {
    expect(() => targets().assertAllowedUrl(url)).toThrow(ForbiddenTarget);
    await expect(targets().resolve(url)).rejects.toThrow(ForbiddenTarget);
  });

  it.each(['https://inside.example/', 'https://both.example/', 'https://six.example/'])(
    'do not include %s, which resolves to an internal address',
    async (url) => {
      await expect(targets().resolve(url)).rejects.toThrow(ForbiddenTarget);
    },
  );

  it('include public addresses, and are resolved to one of them', async () => {
    await expect(targets().resolve('https://public.example/hook')).resolves.toEqual({
      address: '203.0.114.7',
      family: 4,
    });
    await expect(targets().resolve('https://[2606:4700::1111]:8443/')).resolves.toMatchObject({
      address: '2606:4700::1111',
    });
    await expect(targets().resolve('https://none.example/')).rejects.toThrow('no address');
  });

  it('include allowed networks, and http where it is allowed', async () => {
    const allowed = targets({ allowsHttp: true, allowedNetworks: ['10.0.0.0/24', '::1'] });
    await expect(allowed.resolve('http://inside.example/')).resolves.toMatchObject({ address: '10.0.0.5' });
    await expect(allowed.resolve('http://six.example/')).resolves.toMatchObject({ address: '::1' });
    await expect(allowed.resolve('http://10.0.1.5/')).rejects.toThrow(ForbiddenTarget);
    await expect(allowed.resolve('http://127.0.0.1/')).rejects.toThrow(ForbiddenTarget);
  });
});

describe('the configuration of targets', () => {
  const load = (environment: Record<string, string>) =>
    loadConfig(testEnvironment('postgresql://localhost/issues', 'https://id.test', environment)).webhooks;

  it('allows http outside production, and with WEBHOOK_ALLOW_HTTP', () => {
    expect(load({}).allowsHttp).toBe(true);
    expect(load({ NODE_ENV: 'production' })).toEqual({ allowsHttp: false, allowedNetworks: [] });
    expect(load({ NODE_ENV: 'production', WEBHOOK_ALLOW_HTTP: 'on' }).allowsHttp).toBe(true);
  });

  it('has a list of networks', () => {
    const networks = { WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8, fd00::/8,192.0.2.1' };
    expect(load(networks).allowedNetworks).toEqual(['10.0.0.0/8', 'fd00::/8', '192.0.2.1']);
    for (const wrong of ['10.0.0.0/33', '10.0.0.0/x', 'example.com', '10.0.0.0/8;fd00::/8'])
      expect(() => load({ WEBHOOK_ALLOWED_NETWORKS: wrong })).toThrow(
        'WEBHOOK_ALLOWED_NETWORKS: must be a list',
      );
  });
});
