import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns the network by which a client's address is counted: an IPv4 address, also one that is mapped into IPv6 (RFC 4291
 * 2.5.5.2), or the /64 of an IPv6 address, because one subscriber usually has all of it. Every spelling of an address gives
 * the same text.
 */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const groups = groupsOf(ip);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** Returns a client's address; an IPv4 address that is mapped into IPv6 as IPv4. */
export function plainAddress(ip: string): string {
  const network = networkOf(ip);
  return network.endsWith('::/64') ? ip : network;
}

/** The eight groups of an IPv6 address. */
function groupsOf(ip: string): number[] {
  const [address = ''] = ip.split('%');
  const [head = [], tail = []] = address.split('::').map(partsOf);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

function partsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!isIPv4(part)) return Number.parseInt(part, 16);
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
