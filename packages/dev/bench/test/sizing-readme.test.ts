import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

// A reader recomputes the tables of docs/reference/sizing.md from the figures and formulas that it prints. Nothing here uses the model.

const read = (page: string) => readFileSync(new URL(`../../../../docs/${page}.md`, import.meta.url), 'utf8');
const page = read('reference/sizing');
const section = page.slice(page.indexOf('<!-- sizing -->'), page.indexOf('<!-- /sizing -->'));
const text = section.replace(/\s+/g, ' ');

type Row = Record<string, string>;
type Rates = Record<string, number>;
const services = ['identity', 'issues'] as const;
type Service = (typeof services)[number];

/** The table whose first column has the title. */
function tableOf(title: string, markdown = section): Row[] {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${title} `));
  if (start === -1) throw new Error(`there is no table of ${title}`);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  const [header = [], , ...rows] = lines.slice(start, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return rows.map((cells) => Object.fromEntries(header.map((name, column) => [name, cells[column] ?? ''])));
}

/** The number of a cell, with zero for an empty one. */
function numberIn(cell: string | undefined): number {
  const value = Number(cell?.replaceAll(',', ''));
  if (cell === undefined || Number.isNaN(value)) throw new Error(`"${cell}" is not a number`);
  return value;
}

/** The numbers that a pattern captures. */
function numbers(pattern: RegExp, where = text): number[] {
  const found = pattern.exec(where);
  if (found === null) throw new Error(`nothing matches ${pattern}`);
  return found.slice(1).map(numberIn);
}

function number(pattern: RegExp, where = text): number {
  return numbers(pattern, where)[0] ?? Number.NaN;
}

const total = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0);

/** Half of the unit of the last printed digit. */
const halfUnit = (printed: string) => 0.5 * 10 ** -(printed.split('.')[1] ?? '').length;

function expectPrinted(printed: string | undefined, value: number): void {
  const difference = Math.abs(numberIn(printed) - value);
  if (difference > halfUnit(printed ?? '') + 1e-9) throw new Error(`${printed} is printed for ${value}`);
}

const inputs = {
  peak: number(/busiest hour has (\d+) % of the requests/) / 100,
  open: number(/and (\d+) % of the users have a browser open/) / 100,
  pause: number(/at most every (\d+) s\./),
  list: number(/that of a list of (\d+)\./),
  used: 1 - number(/(\d+) % of the processor time stays free/) / 100,
};

const costRows = tableOf('operation');
const operations = costRows.filter(({ operation }) => operation !== 'an event of a stream');
const named = (operation: string) => costRows.find((row) => row.operation === operation) ?? {};
const bytesRows = tableOf('table');
const sizeRows = tableOf('daily users');
const live = 'read a changed issue';
const list = `list ${inputs.list} issues`;
const writes = ['create an issue', 'comment', 'change the status'];
const reads = ['read the own identity', list, 'get an issue'];

const perDay = (operation: string) => numberIn(named(operation)['a day']);
const writesOf = (users: number) => (total(writes.map(perDay)) * users * inputs.peak) / 3_600;
const openOf = (users: number) => users * inputs.open;

function ratesOf(users: number): Rates {
  const rates = Object.fromEntries(
    operations.map(({ operation = '' }) => [operation, (perDay(operation) * users * inputs.peak) / 3_600]),
  );
  const changes = writesOf(users);
  return { ...rates, [live]: (openOf(users) * changes) / (1 + inputs.pause * changes) };
}

type Time = 'CPU µs' | 'PostgreSQL µs';

function liveCost(users: number, time: Time): number {
  const [one, all] = [numberIn(named(live)[time]), numberIn(named(list)[time])];
  return one + (all - one) * Math.min(1, (inputs.pause * writesOf(users)) / (inputs.list - 1));
}

const streamsOf = (users: number) =>
  (openOf(users) * writesOf(users) * numberIn(named('an event of a stream')['CPU µs'])) / 1e6;

function coresOf(users: number, service: Service, time: Time): number {
  const rates = ratesOf(users);
  const used = operations
    .filter((row) => row.service === service)
    .map(({ operation = '', ...row }) => {
      const cost = operation === live ? liveCost(users, time) : numberIn(row[time]);
      return ((rates[operation] ?? 0) * cost) / 1e6;
    });
  return total(used) + (service === 'issues' && time === 'CPU µs' ? streamsOf(users) : 0);
}

const replicasOf = (users: number, service: Service) =>
  Math.max(2, Math.ceil(coresOf(users, service, 'CPU µs') / inputs.used));

function connectionFigures(service: Service) {
  const row = sizeRows.find((size) => size['daily users'] === `connections of ${service}`);
  const [surge = 0, each = 0, migrator = 0] = numbers(
    /^\(replicas \+ (\d+)\) × (\d+) \+ (\d+)$/,
    row?.formula,
  );
  return { surge, each, migrator };
}

function connectionsOf(users: number, service: Service): number {
  const { surge, each, migrator } = connectionFigures(service);
  return (replicasOf(users, service) + surge) * each + migrator;
}

function gigabytesOf(users: number, service: Service, tables?: string): number {
  const bytes = bytesRows
    .filter((row) => row.service === service && (tables === undefined || row.table === `\`${tables}\``))
    .flatMap((row) => {
      const days = row['days kept'] === 'always' ? 365 : Math.min(365, numberIn(row['days kept']));
      return operations.map(({ operation = '' }) =>
        operation in row ? perDay(operation) * numberIn(row[operation]) * days : 0,
      );
    });
  return (users * total(bytes)) / 1e9;
}

describe('the sizing section of docs/reference/sizing.md', () => {
  it('has the sum of the bytes of all tables for each operation', () => {
    for (const { operation = '', bytes } of operations) {
      expectPrinted(bytes, total(bytesRows.map((row) => (operation in row ? numberIn(row[operation]) : 0))));
    }
    for (const { table, service } of bytesRows) {
      expect(
        readFileSync(new URL(`../../../../apps/${service}/prisma/schema.prisma`, import.meta.url), 'utf8'),
      ).toContain(`@@map("${table?.replaceAll('`', '')}")`);
    }
  });

  const sum = (names: readonly string[]) => (users: number) =>
    total(names.map((name) => ratesOf(users)[name] ?? Number.NaN));
  const rows: Record<string, (users: number) => number> = {
    'sign-ins a second': sum(['sign in']),
    'refreshes a second': sum(['refresh the tokens']),
    'reads a second': sum(reads),
    'writes a second': sum(writes),
    'open browsers': openOf,
    'reads of changed issues a second': sum([live]),
    'CPU µs of a read of changed issues': (users) => liveCost(users, 'CPU µs'),
    'PostgreSQL µs of a read of changed issues': (users) => liveCost(users, 'PostgreSQL µs'),
    'cores of identity': (users) => coresOf(users, 'identity', 'CPU µs'),
    'cores of issues': (users) => coresOf(users, 'issues', 'CPU µs'),
    '… of these for live updates': (users) =>
      (sum([live])(users) * liveCost(users, 'CPU µs')) / 1e6 + streamsOf(users),
    'cores of PostgreSQL of identity': (users) => coresOf(users, 'identity', 'PostgreSQL µs'),
    'cores of PostgreSQL of issues': (users) => coresOf(users, 'issues', 'PostgreSQL µs'),
    'replicas of identity': (users) => replicasOf(users, 'identity'),
    'replicas of issues': (users) => replicasOf(users, 'issues'),
    'connections of identity': (users) => connectionsOf(users, 'identity'),
    'connections of issues': (users) => connectionsOf(users, 'issues'),
    'GB of identity after a year': (users) => gigabytesOf(users, 'identity'),
    '… of these the audit trail': (users) => gigabytesOf(users, 'identity', 'audit_events'),
    'GB of issues after a year': (users) => gigabytesOf(users, 'issues'),
    '… of these the history': (users) => gigabytesOf(users, 'issues', 'activity'),
  };

  it.each(Object.keys(rows))('has the figures of its own formula: %s', (title) => {
    const {
      'daily users': _title,
      formula,
      ...sizes
    } = sizeRows.find((row) => row['daily users'] === title) ?? { formula: '' };
    expect(formula).not.toBe('');
    expect(Object.keys(sizes)).toHaveLength(3);
    for (const [users, printed] of Object.entries(sizes)) {
      expectPrinted(printed, rows[title]?.(numberIn(users)) ?? Number.NaN);
    }
  });

  it('has no other line, and formulas with its own figures', () => {
    expect(sizeRows.map((row) => row['daily users'])).toEqual(Object.keys(rows));
    for (const time of ['CPU µs', 'PostgreSQL µs'] as const) {
      const row = sizeRows.find((size) => size['daily users'] === `${time} of a read of changed issues`);
      const [one, all] = [named(live)[time], named(list)[time]];
      expect(row?.formula).toBe(
        `${one} + (${all} − ${one}) × min(1, ${inputs.pause} × writes ÷ ${inputs.list - 1})`,
      );
    }
    const formulas = sizeRows.map(({ formula }) => formula).join('\n');
    expect(formulas).toContain(`÷ (1 + ${inputs.pause} × writes)`);
    expect(formulas).toContain(`users × ${inputs.peak} ÷ 3,600`);
    expect(formulas).toContain(`cores ÷ ${inputs.used}, at least 2`);
    expect(formulas).toContain(`users × ${inputs.open}\n`);
  });

  it('agrees with the table of connections about the connections and the largest number of replicas', () => {
    for (const row of tableOf('service', read('operations/kubernetes-network'))) {
      const service = row.service as Service;
      const { surge, each, migrator } = connectionFigures(service);
      expect(numberIn(row.sum)).toBe(each);
      const most = number(new RegExp(`\\| (\\d+) replicas of ${service} `), section) + surge;
      expect(row['largest number of replicas and surge, and migrator']).toBe(
        `${most} × ${each} + ${migrator} = ${most * each + migrator}`,
      );
    }
  });
});

describe('the limits of docs/reference/sizing.md', () => {
  // The figures have two digits: the demand reaches the capacity in the range that is rounded to them.
  const isReached = (printed: string, demand: (users: number) => number, capacity: number) => {
    const users = numberIn(printed);
    const half = 0.5 * 10 ** (Math.floor(Math.log10(users)) - 1);
    return demand(users - half) < capacity && demand(users + half) >= capacity;
  };

  const [cores = 0, gigabytes = 0] = numbers(
    /a PostgreSQL server of ([\d,]+) cores and ([\d,]+) GB for each service/,
  );
  const free = number(/In each of them, (\d+) % of the cores stay free/) / 100;
  const most = (service: Service) => number(new RegExp(`\\| (\\d+) replicas of ${service} `), section);

  const limits = tableOf('limit');

  /** The demand and the capacity of a limit, by its title. */
  function limitOf(title: string): [demand: (users: number) => number, capacity: number] {
    for (const service of services) {
      const replicas = (users: number) => coresOf(users, service, 'CPU µs');
      if (title === `${most(service)} replicas of ${service}`) return [replicas, most(service) * inputs.used];
      if (title.startsWith(`connections of ${service}: `)) {
        const [printed = 0, usable = 0] = numbers(/: (\d+) replicas in (\d+)$/, title);
        const { surge, each, migrator } = connectionFigures(service);
        expect(printed).toBe(Math.floor((usable - migrator) / each) - surge);
        return [replicas, printed * inputs.used];
      }
      if (title === `${cores} cores of PostgreSQL of ${service}`) {
        return [(users) => coresOf(users, service, 'PostgreSQL µs'), cores * inputs.used];
      }
      if (title === `${gigabytes} GB of ${service} after a year`) {
        return [(users) => gigabytesOf(users, service), gigabytes];
      }
    }
    if (title.startsWith('all sign in within an hour, on ')) {
      expect(title).toBe(`all sign in within an hour, on ${most('identity')} replicas of identity`);
      const signIn = numberIn(named('sign in')['CPU µs']) / 1e6;
      return [(users) => (users / 3_600) * signIn, most('identity') * inputs.used];
    }
    const [streams = 0, replicas = 0] = numbers(/^([\d,]+) streams of each of (\d+) replicas$/, title);
    return [openOf, streams * replicas];
  }

  it.each(limits.map(({ limit = '', 'daily users': users = '' }) => [limit, users]))(
    'follow from the printed costs: %s',
    (title, users) => {
      const [demand, capacity] = limitOf(title);
      expect(isReached(users, demand, capacity)).toBe(true);
    },
  );

  it('are those of a server for each service, in their order, with the same share of free cores', () => {
    const users = limits.map((row) => numberIn(row['daily users']));
    expect(users).toEqual([...users].sort((a, b) => a - b));
    expect(limits).toHaveLength(2 * 4 + 2);
    expect(1 - free).toBe(inputs.used);
  });

  it('of one server are those of the sum of both databases', () => {
    const shared = tableOf('limit of one server');
    const both = (demand: (service: Service) => number) => demand('identity') + demand('issues');
    const usersOf = (title: RegExp) =>
      shared.find(({ 'limit of one server': limit = '' }) => title.test(limit))?.['daily users'] ?? '';
    const [usable = 0, identity = 0, issues = 0, some = 0, others = 0] = numbers(
      /\| (\d+) connections \(replicas: (\d+) of identity and (\d+) of issues; (\d+) \+ (\d+)\)/,
      section,
    );
    const connected = (users: number) => both((service) => connectionsOf(users, service));
    expect(isReached(usersOf(/connections/), connected, usable + 1)).toBe(true);
    const figures = services.map(connectionFigures);
    const counts = [identity, issues].map(
      (replicas, index) =>
        (replicas + (figures[index]?.surge ?? 0)) * (figures[index]?.each ?? 0) +
        (figures[index]?.migrator ?? 0),
    );
    expect(counts).toEqual([some, others]);
    expect(total(counts)).toBeLessThanOrEqual(usable);
    expect(total(counts) + (figures[1]?.each ?? 0)).toBeGreaterThan(usable);
    const demanded = (users: number) => both((service) => coresOf(users, service, 'PostgreSQL µs'));
    expect(isReached(usersOf(/^\d+ cores$/), demanded, cores * inputs.used)).toBe(true);
    const stored = (users: number) => both((service) => gigabytesOf(users, service));
    expect(isReached(usersOf(/ GB after a year$/), stored, gigabytes)).toBe(true);
    const order = shared.map((row) => numberIn(row['daily users']));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).toHaveLength(3);
  });
});

describe('the proofs of docs/reference/sizing.md', () => {
  const proofs = tableOf('figure');
  const [identityUsers = 0, issuesUsers = 0] = numbers(
    /those of identity for ([\d,]+) daily users, those of issues for (\d[\d,]*\d), with one issue/,
  );

  it('have the ratio of their figures', () => {
    for (const { table, measured, ratio, 'within a third': verdict } of proofs) {
      const exact = numberIn(measured) / numberIn(table);
      expect(Math.abs(numberIn(ratio) - exact)).toBeLessThan(0.01);
      expect(verdict).toBe(Math.abs(exact - 1) <= 1 / 3 ? 'yes' : '**no**');
    }
  });

  it('compare the bytes of the table', () => {
    const bytes = (operation: string) => numberIn(named(operation).bytes);
    const [comments = 0, changes = 0] = numbers(
      /an issue with (\d+) comments and (\d+) changes of its status/,
    );
    const [refreshes = 0] = numbers(/a session with (\d+) refreshes/);
    const printed = (start: string) =>
      numberIn(proofs.find(({ figure }) => figure?.startsWith(start))?.table);
    const difference = (start: string, sum: number) => Math.abs(printed(start) - sum);
    // Each printed summand differs from the measured one by half a byte at most.
    expect(
      difference(
        'an issue',
        bytes('create an issue') + comments * bytes('comment') + changes * bytes('change the status'),
      ),
    ).toBeLessThanOrEqual(0.5 * (1 + comments + changes + 1));
    expect(
      difference('a session', bytes('sign in') + refreshes * bytes('refresh the tokens')),
    ).toBeLessThanOrEqual(0.5 * (1 + refreshes + 1));
  });

  it('compare the processor time of the table, at the rates of the busiest hour', () => {
    const rates = { identity: ratesOf(identityUsers), issues: ratesOf(issuesUsers) };
    const mean = (of: readonly Service[], time: Time) => {
      const mixed = operations
        .filter(({ service }) => of.includes(service as Service))
        .map(({ operation = '', service, [time]: cost }) => {
          const rate = rates[service as Service][operation] ?? 0;
          return { rate, micros: rate * numberIn(cost) };
        });
      return total(mixed.map(({ micros }) => micros)) / total(mixed.map(({ rate }) => rate));
    };
    const expected = {
      'processor time of a request of identity': mean(['identity'], 'CPU µs'),
      'processor time of a request of issues': mean(['issues'], 'CPU µs'),
      'processor time of PostgreSQL for a request': mean(services, 'PostgreSQL µs'),
    };
    for (const [figure, micros] of Object.entries(expected)) {
      const printed = numberIn(proofs.find((proof) => proof.figure === figure)?.table);
      // The numbers of requests that were sent in the window differ a little from the rates.
      expect(printed / micros).toBeCloseTo(1, 2);
    }
  });
});
