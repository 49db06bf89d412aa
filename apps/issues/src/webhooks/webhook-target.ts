import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** A webhook must not be sent to this target. The message tells the person who manages the endpoint why. */
export class ForbiddenTarget extends Error {
  override readonly name = 'ForbiddenTarget';
}

export interface TargetAddress {
  address: string;
  family: number;
}

export interface TargetRules {
  /** Whether http is allowed. */
  allowsHttp: boolean;
  /** Networks inside to which webhooks may be sent, in CIDR notation. */
  allowedNetworks: readonly string[];
  /** Resolves a host name to all of its addresses. Default: the resolver of the operating system. */
  resolve?: (host: string) => Promise<TargetAddress[]>;
}

/**
 * The networks that are not globally reachable, and multicast (IANA's special-purpose address registries, RFC 6890).
 * The metadata services of clouds are in 169.254.0.0/16, 100.64.0.0/10 and fd00::/8; Azure also has a public address for
 * the host of a virtual machine (168.63.129.16).
 */
const internal = networks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // 2001:0::/32 (Teredo) and 2002::/16 (6to4) contain IPv4 addresses.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
/** All other IPv6 addresses are internal, among them IPv4-mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96) ones. */
const globalIpv6 = networks(['2000::/3']);

/** The end of an address that contains an IPv4 address (ISATAP, RFC 5214, 6.1), as the URL parser and the resolver write it. */
const isatap = /:(?:0?|200):5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/i;

/** The targets to which webhooks may be sent. */
export class WebhookTargets {
  readonly #allowsHttp: boolean;
  readonly #allowed: BlockList;
  readonly #resolve: (host: string) => Promise<TargetAddress[]>;

  constructor({ allowsHttp, allowedNetworks, resolve = resolveAll }: TargetRules) {
    this.#allowsHttp = allowsHttp;
    this.#allowed = networks(allowedNetworks);
    this.#resolve = resolve;
  }

  /** Throws a `ForbiddenTarget` for a URL that can be refused without resolving its name. */
  assertAllowedUrl(url: string): void {
    const { protocol, hostname, port } = parseUrl(url);
    if (protocol !== 'https:' && !(this.#allowsHttp && protocol === 'http:'))
      throw new ForbiddenTarget(`must start with https://${this.#allowsHttp ? ' or http://' : ''}`);
    // The parser drops empty credentials.
    if (/^[^/]*\/\/[^/?#]*@/.test(url)) throw new ForbiddenTarget('must not contain credentials');
    if (port === '0' || !isHostName(hostname))
      throw new ForbiddenTarget('must have a host and a port that can exist');
    const address = literalAddress(hostname) ?? loopbackAddress(hostname);
    if (address !== undefined) this.#assertAllowed(address);
  }

  /**
   * Resolves the host of a URL. Throws a `ForbiddenTarget` if one of its addresses is internal. The connection must use the
   * returned address, because another lookup can return another one.
   */
  async resolve(url: string): Promise<TargetAddress> {
    this.assertAllowedUrl(url);
    const { hostname } = parseUrl(url);
    const literal = literalAddress(hostname);
    const addresses = literal === undefined ? await this.#resolve(hostname) : [literal];
    for (const address of addresses) this.#assertAllowed(address);
    const [first] = addresses;
    if (first === undefined) throw new Error(`no address for ${hostname}`);
    return first;
  }

  #assertAllowed({ address }: TargetAddress): void {
    if (isIn(this.#allowed, address)) return;
    const isInternal =
      isIn(internal, address) ||
      (isIP(address) === 6 && (!isIn(globalIpv6, address) || isatap.test(address)));
    if (isInternal)
      throw new ForbiddenTarget(
        `must not lead to the internal address ${address} (WEBHOOK_ALLOWED_NETWORKS)`,
      );
  }
}

/** Whether the text is an IP address or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  try {
    networks([text]);
    return true;
  } catch {
    return false;
  }
}

function networks(list: readonly string[]): BlockList {
  const result = new BlockList();
  for (const network of list) {
    const [address = '', length] = network.split('/');
    const isIpv4 = isIP(address) === 4;
    const longest = isIpv4 ? 32 : 128;
    result.addSubnet(address, length === undefined ? longest : Number(length), isIpv4 ? 'ipv4' : 'ipv6');
  }
  return result;
}

function isIn(list: BlockList, address: string): boolean {
  // A scope, as in fe80::1%eth0, is not part of the address.
  const [plain = ''] = address.split('%');
  return list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
}

function parseUrl(url: string): URL {
  if (!URL.canParse(url)) throw new ForbiddenTarget('must be a URL');
  return new URL(url);
}

/** The limits of RFC 1035, 2.3.4. */
function isHostName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => label.length <= 63);
}

/** The URL parser has converted all spellings of an IPv4 address, such as 0x7f.1 and 2130706433. */
function literalAddress(hostname: string): TargetAddress | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(address);
  return family === 0 ? undefined : { address, family };
}

/** These names are of the loopback interface (RFC 6761, 6.3). */
function loopbackAddress(hostname: string): TargetAddress | undefined {
  return /(^|\.)localhost\.?$/.test(hostname) ? { address: '127.0.0.1', family: 4 } : undefined;
}

async function resolveAll(host: string): Promise<TargetAddress[]> {
  return lookup(host, { all: true, verbatim: false });
}
