import { describe, expect, it } from '@jest/globals';
import {
  type PrimaryPlace,
  placeNeeded,
  placeOf,
  positionBeyond,
  positionOf,
  type StandbyPlace,
} from '../src/database/database-position.ts';
import { listAgeMaxMs, PrimaryTrail } from '../src/database/primary-trail.ts';

const place = (lsn: string, more: Partial<PrimaryPlace> = {}): PrimaryPlace =>
  placeOf({ database: '7.1', timeline: 3, lsn, ...more });
const standby = (lsn: string, more: Partial<StandbyPlace> = {}): StandbyPlace => ({
  ...place(lsn, more),
  isStandby: more.isStandby ?? true,
});

describe('a position', () => {
  it('is greater as a text if it is later in the log, also after a failover', () => {
    const inOrder = [
      place('0/9'),
      place('0/A0'),
      place('0/FFFFFFFF'),
      place('1/0'),
      place('1F/2'),
      place('0/A1', { timeline: 4 }),
      place('0/0', { timeline: 17 }),
    ].map(positionOf);
    expect(inOrder.toSorted()).toEqual(inOrder);
    for (const position of inOrder) expect(position).toMatch(/^[\dA-F]{24}$/);
    expect(positionOf(place('16/B374D848'))).toBe('0000000300000016B374D848');
  });

  it('beyond a place is later, and of the same timeline', () => {
    const [now, beyond] = [place('FF/FFFFFFF0'), positionBeyond(place('FF/FFFFFFF0'))];
    expect(beyond > positionOf(now)).toBe(true);
    expect(beyond).toMatch(/^00000003[\dA-F]{16}$/);
  });

  it.each([
    ['a place of the same timeline', positionOf(place('1/0')), { lsn: '0000000100000000' }],
    [
      'nothing after a failover, because each standby has the end of the earlier timeline',
      positionOf(place('F/0', { timeline: 2 })),
      'nothing',
    ],
    ['the primary for a later timeline', positionOf(place('0/0', { timeline: 4 })), 'elsewhere'],
    ['the primary for the greatest text', 'F'.repeat(24), 'elsewhere'],
  ])('needs %s', (_what, position, expected) => {
    expect(placeNeeded(position, place('2/0'))).toEqual(expected);
  });
});

describe('a standby', () => {
  /** The primary wrote at 0/100, 0/200 and 0/300, a second after each other; the last at 3,000 ms. */
  const trailOf = () => {
    const trail = new PrimaryTrail();
    for (const [lsn, at] of [
      ['0/100', 1_000],
      ['0/200', 2_000],
      ['0/300', 3_000],
    ] as const)
      trail.note(place(lsn), at);
    return trail;
  };

  it.each<[string, StandbyPlace, string | undefined, number, unknown]>([
    ['serves what it has', standby('0/300'), undefined, 3_100, 'current'],
    ['serves while it is a little behind', standby('0/100'), undefined, 3_100, 'current'],
    ['serves a position that it has', standby('0/280'), positionOf(place('0/280')), 3_100, 'current'],
    ['is behind a position that it lacks', standby('0/280'), positionOf(place('0/288')), 3_100, 'behind'],
    [
      'serves a position before a failover',
      standby('0/280'),
      positionOf(place('9/0', { timeline: 2 })),
      3_100,
      'current',
    ],
    [
      'leaves a later timeline to the primary',
      standby('0/300'),
      positionOf(place('0/1', { timeline: 4 })),
      3_100,
      'elsewhere',
    ],
    [
      'is of no use without the first place',
      standby('0/80'),
      undefined,
      3_100,
      { unusable: expect.stringContaining('5 s behind') },
    ],
    [
      'is of no use if it is too old',
      standby('0/180'),
      undefined,
      1_001 + listAgeMaxMs,
      { unusable: expect.stringContaining('5 s behind') },
    ],
    [
      'is of no use if the primary is silent',
      standby('0/300'),
      undefined,
      3_001 + listAgeMaxMs,
      { unusable: expect.stringContaining('the primary is silent') },
    ],
    [
      'is of no use after it has taken over',
      standby('0/300', { isStandby: false }),
      undefined,
      3_100,
      { unusable: 'the server is no standby' },
    ],
    [
      'is of no use with another database',
      standby('0/300', { database: '8.1' }),
      undefined,
      3_100,
      { unusable: expect.stringContaining('another database') },
    ],
    [
      'is of no use on a lost timeline, with a higher place',
      standby('9/0', { timeline: 2 }),
      undefined,
      3_100,
      { unusable: expect.stringContaining('timeline') },
    ],
    [
      'is of no use on a later timeline',
      standby('9/0', { timeline: 4 }),
      undefined,
      3_100,
      { unusable: expect.stringContaining('timeline') },
    ],
  ])('%s', (_what, server, after, now, expected) => {
    expect(trailOf().judge(server, after, now)).toEqual(expected);
  });

  it('must have a place that is not older than asked for', () => {
    const judge = (age: number) => trailOf().judge(standby('0/200'), undefined, 3_100, age);
    expect(judge(1_100)).toBe('current');
    expect(judge(1_099)).toMatchObject({ unusable: expect.any(String) });
  });

  it('is judged anew after a failover of the primary', () => {
    const trail = trailOf();
    trail.note(place('0/250', { timeline: 4 }), 3_500);
    expect(trail.judge(standby('0/300'), undefined, 3_600)).toMatchObject({ unusable: expect.any(String) });
    expect(trail.judge(standby('0/260', { timeline: 4 }), undefined, 3_600)).toBe('current');
    expect(trail.judge(standby('0/240', { timeline: 4 }), undefined, 3_600)).toMatchObject({
      unusable: expect.any(String),
    });
  });

  it('is of no use before the first look at the primary', () => {
    expect(new PrimaryTrail().judge(standby('0/1'), undefined, 0)).toMatchObject({
      unusable: expect.any(String),
    });
  });
});
