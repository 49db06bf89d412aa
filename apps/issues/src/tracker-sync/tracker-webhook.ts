import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { TrackerProvider } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { z } from 'zod';
import type { SyncQueueRepository } from './sync-queue.repository.ts';

/** The part of a delivery that a sync uses. The sync reads all other data from the tracker. */
interface Delivery {
  id: string;
  /** The remote issue in the configured project; undefined for other events. */
  remoteId: string | undefined;
}

interface WebhookRequest {
  /** Returns the header with a lower-case name. */
  header: (name: string) => string | undefined;
  body: Buffer;
}

interface WebhookRules {
  isSigned: (request: WebhookRequest, secret: string) => boolean;
  /** Headers that can contain the id of the delivery. */
  deliveryHeaders: readonly string[];
  /** `projects`: the possible values of `TRACKER_PROJECT` for the project of the delivery. */
  payload: z.ZodType<{ projects: readonly string[]; id: number } | undefined>;
}

const repositoryPayload = z
  .object({
    issue: z.object({ number: z.int().positive() }),
    repository: z.object({ full_name: z.string() }),
  })
  .transform(({ issue, repository }) => ({ projects: [repository.full_name], id: issue.number }));
const projectPayload = z
  .object({
    object_kind: z.enum(['issue', 'note']),
    project: z.object({ path_with_namespace: z.string(), id: z.int() }),
    object_attributes: z.object({ iid: z.int().positive().optional() }),
    issue: z.object({ iid: z.int().positive() }).optional(),
  })
  .transform(({ project, issue, object_attributes: { iid } }) => {
    const id = issue?.iid ?? iid;
    return id === undefined ? undefined : { projects: [project.path_with_namespace, String(project.id)], id };
  });

const rules: Readonly<Partial<Record<TrackerProvider, WebhookRules>>> = {
  // docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
  github: {
    isSigned: (request, secret) =>
      isEqual(request.header('x-hub-signature-256'), `sha256=${hmac(request.body, secret)}`),
    deliveryHeaders: ['x-github-delivery'],
    payload: repositoryPayload,
  },
  // docs.gitea.com/usage/webhooks
  gitea: {
    isSigned: (request, secret) =>
      isEqual(
        request.header('x-gitea-signature') ?? request.header('x-forgejo-signature'),
        hmac(request.body, secret),
      ),
    deliveryHeaders: ['x-gitea-delivery', 'x-forgejo-delivery'],
    payload: repositoryPayload,
  },
  // docs.gitlab.com/user/project/integrations/webhooks: GitLab sends the secret itself.
  gitlab: {
    isSigned: (request, secret) => isEqual(request.header('x-gitlab-token'), secret),
    deliveryHeaders: ['idempotency-key', 'x-gitlab-event-uuid'],
    payload: projectPayload,
  },
};

/** Whether a tracker authenticates its webhooks. */
export function sendsWebhooks(provider: TrackerProvider): boolean {
  return rules[provider] !== undefined;
}

interface WebhookHook {
  provider: TrackerProvider;
  project: string;
  secret: string;
  queue: SyncQueueRepository;
}

/** Receives webhooks of the tracker. A delivery only makes an issue due; the sync reads the tracker instead of trusting it. */
export class TrackerWebhooks {
  readonly #hook: WebhookHook | undefined;

  /** `hook`: undefined if no webhook is configured. */
  constructor(hook: WebhookHook | undefined) {
    this.#hook = hook;
  }

  isFor(provider: TrackerProvider): boolean {
    return this.#hook?.provider === provider;
  }

  /** False if the delivery was received before. Throws a 401 problem if its signature is invalid. */
  async take(request: WebhookRequest): Promise<boolean> {
    const hook = this.#hook;
    if (hook === undefined) throw new Error('isFor returned false');
    const delivery = readDelivery(hook.provider, hook, request);
    if (delivery === undefined) {
      throw new ProblemError({
        status: 401,
        code: 'invalid_signature',
        detail: 'Invalid signature.',
        headers: { 'WWW-Authenticate': 'Signature' },
      });
    }
    return hook.queue.addDelivery(delivery.id, delivery.remoteId);
  }
}

// Undefined if the signature is invalid.
function readDelivery(
  provider: TrackerProvider,
  { secret, project }: { secret: string; project: string },
  request: WebhookRequest,
): Delivery | undefined {
  const { [provider]: rule } = rules;
  if (rule === undefined || !rule.isSigned(request, secret)) return undefined;
  const named = rule.deliveryHeaders.map((name) => request.header(name)).find((id) => id !== undefined);
  // A delivery without an id is identified by its content.
  const id = named?.slice(0, 200) ?? createHash('sha256').update(request.body).digest('hex');
  const about = rule.payload.safeParse(parseJson(request.body)).data;
  const isOurs = about?.projects.some((name) => name.toLowerCase() === project.toLowerCase()) ?? false;
  return { id, remoteId: isOurs ? String(about?.id) : undefined };
}

function hmac(body: Buffer, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

// Compares digests: timingSafeEqual needs equal lengths.
function isEqual(given: string | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected));
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
