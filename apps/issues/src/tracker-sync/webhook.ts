import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { TrackerProvider } from '@tessera/contracts';
import { z } from 'zod';

/** What a delivery says, as far as it matters: everything else is read from the tracker itself. */
export interface Delivery {
  id: string;
  /** The issue that it is about, in the project that is configured; undefined where it is about something else. */
  remoteId: string | undefined;
}

interface WebhookRequest {
  /** Header values by lower-case name. */
  header: (name: string) => string | undefined;
  body: Buffer;
}

interface WebhookRules {
  isSigned: (request: WebhookRequest, secret: string) => boolean;
  /** Headers that may hold the delivery's id. */
  deliveryHeaders: readonly string[];
  payload: z.ZodType<{ project: string; id: number } | undefined>;
}

const repositoryPayload = z
  .object({
    issue: z.object({ number: z.int().positive() }),
    repository: z.object({ full_name: z.string() }),
  })
  .transform(({ issue, repository }) => ({ project: repository.full_name, id: issue.number }));
const projectPayload = z
  .object({
    object_kind: z.enum(['issue', 'note']),
    project: z.object({ path_with_namespace: z.string(), id: z.int() }),
    object_attributes: z.object({ iid: z.int().positive().optional() }),
    issue: z.object({ iid: z.int().positive() }).optional(),
  })
  .transform(({ project, issue, object_attributes: { iid } }) => {
    const id = issue?.iid ?? iid;
    return id === undefined ? undefined : { project: project.path_with_namespace, id };
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
  // docs.gitlab.com/user/project/integrations/webhooks: the secret itself is the proof.
  gitlab: {
    isSigned: (request, secret) => isEqual(request.header('x-gitlab-token'), secret),
    deliveryHeaders: ['idempotency-key', 'x-gitlab-event-uuid'],
    payload: projectPayload,
  },
};

/** Whether a tracker sends webhooks that can be told from anybody else's. */
export function sendsWebhooks(provider: TrackerProvider): boolean {
  return rules[provider] !== undefined;
}

/**
 * Reads a delivery; undefined where its signature does not hold. A body that is about nothing we know is a delivery
 * about nothing.
 */
export function readDelivery(
  provider: TrackerProvider,
  { secret, project }: { secret: string; project: string },
  request: WebhookRequest,
): Delivery | undefined {
  const { [provider]: rule } = rules;
  if (rule === undefined || !rule.isSigned(request, secret)) return undefined;
  const named = rule.deliveryHeaders.map((name) => request.header(name)).find((id) => id !== undefined);
  // Without an id of its own a delivery is known by its content.
  const id = named?.slice(0, 200) ?? createHash('sha256').update(request.body).digest('hex');
  const about = rule.payload.safeParse(parseJson(request.body)).data;
  const isOurs = about?.project.toLowerCase() === project.toLowerCase();
  return { id, remoteId: isOurs ? String(about?.id) : undefined };
}

function hmac(body: Buffer, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

// Over digests, which are of one length: how much is alike takes no time that could be measured.
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
