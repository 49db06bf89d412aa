import { getLiveness, getReadiness } from '@tessera/contracts';
import type { ResponseOf } from '../http/json-response.ts';
import { everyone, type Route, route } from '../http/route.ts';
import type { Logger } from '../observability/logger.ts';

/** A condition of readiness. It fails if it returns false or throws. */
export interface ReadinessCheck {
  name: string;
  check: () => Promise<boolean>;
}

/** A condition that needs an operator's attention without making the service unready. */
export interface ReadinessWarning {
  name: string;
  isOn: () => boolean;
}

interface ReadinessOptions {
  checks: ReadinessCheck[];
  /** Gets a line when the failing checks or their reasons change. */
  logger?: Logger;
  /** Warnings. The response lists the names of the active ones. */
  warnings?: ReadinessWarning[];
  /** How long a result is cached, in milliseconds, so that many probes cause few queries. */
  cacheMs?: number;
  /** Timeout of all checks together, in milliseconds. */
  timeoutMs?: number;
}

/** Liveness and readiness (Kubernetes probes). Responses reveal no more than the names of the checks; the log has reasons. */
export class Health {
  readonly #checks: ReadinessCheck[];
  readonly #warnings: ReadinessWarning[];
  readonly #cacheMs: number;
  readonly #timeoutMs: number;
  readonly #logger: Logger | undefined;
  #logged = '{}';
  #draining = false;
  #cached: { at: number; answer: Promise<Record<string, boolean>> } | undefined;

  constructor({ checks, warnings = [], cacheMs = 2000, timeoutMs = 1000, logger }: ReadinessOptions) {
    this.#checks = checks;
    this.#logger = logger;
    this.#warnings = warnings;
    this.#cacheMs = cacheMs;
    this.#timeoutMs = timeoutMs;
  }

  /** Makes the service unready, so that the load balancer removes it before its connections close. */
  drain(): void {
    this.#draining = true;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Checks no dependency: Kubernetes must not restart the process because its database is down. */
  liveness(): ResponseOf<typeof getLiveness> {
    return { status: 200, body: { status: 'ok' } };
  }

  async readiness(): Promise<ResponseOf<typeof getReadiness>> {
    const checks = { ...(await this.#results()), not_draining: !this.#draining };
    const names = this.#warnings.filter(({ isOn }) => isOn()).map(({ name }) => name);
    const warnings = names.length === 0 ? {} : { warnings: names };
    return Object.values(checks).every(Boolean)
      ? { status: 200, body: { status: 'ready', checks, ...warnings } }
      : { status: 503, body: { status: 'not_ready', checks, ...warnings } };
  }

  #results(): Promise<Record<string, boolean>> {
    const now = performance.now();
    if (this.#cached === undefined || now - this.#cached.at > this.#cacheMs) {
      this.#cached = { at: now, answer: this.#run() };
    }
    return this.#cached.answer;
  }

  async #run(): Promise<Record<string, boolean>> {
    const outcomes = await Promise.all(
      this.#checks.map(async ({ name, check }) => ({
        name,
        problem: await problemOf(check, this.#timeoutMs),
      })),
    );
    this.#log(outcomes.filter(({ problem }) => problem !== undefined));
    return Object.fromEntries(outcomes.map(({ name, problem }) => [name, problem === undefined]));
  }

  #log(failed: { name: string; problem: string | undefined }[]): void {
    const reasons = Object.fromEntries(failed.map(({ name, problem }) => [name, problem]));
    const text = JSON.stringify(reasons);
    if (text === this.#logged) return;
    this.#logged = text;
    if (failed.length === 0) this.#logger?.info('ready');
    else this.#logger?.warn({ reasons }, 'not ready');
  }
}

/** Serves the probes. */
export function healthRoutes(health: Health): Route[] {
  return [
    route(getLiveness, { access: everyone }, ({ request }) => {
      request.isIdle = true;
      return health.liveness();
    }),
    route(getReadiness, { access: everyone }, ({ request }) => {
      request.isIdle = true;
      return health.readiness();
    }),
  ];
}

/** The reason why a check fails; undefined if it passes. */
async function problemOf(check: () => Promise<boolean>, timeoutMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no result within ${timeoutMs} ms`), timeoutMs);
  });
  try {
    return await Promise.race([check().then((passes) => (passes ? undefined : 'not yet')), timeout]);
  } catch (error) {
    return error instanceof Error ? error.message || error.name : String(error);
  } finally {
    clearTimeout(timer);
  }
}
