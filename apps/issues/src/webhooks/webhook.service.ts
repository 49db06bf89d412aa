import { randomBytes } from 'node:crypto';
import { type CreateWebhook, type UpdateWebhook, webhooksMax } from '@tessera/contracts';
import { type Logger, ProblemError, validationProblem } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { Project } from '../issue-core/project.ts';
import type { WebhookRepository } from './webhook.repository.ts';
import type { Delivery, DeliveryAttempt, DeliveryPage, ListedDelivery, WebhookEndpoint } from './webhook.ts';
import { ForbiddenTarget, type WebhookTargets } from './webhook-target.ts';

interface WebhookDependencies {
  repository: WebhookRepository;
  projects: { lookUp(key: string, reader: Actor): Promise<Project | undefined> };
  targets: Pick<WebhookTargets, 'assertAllowedUrl'>;
  logger: Logger;
}

/** The person and the request of a change. */
export interface ChangeContext {
  actor: Actor;
  requestId: string;
}

/** The endpoints to which the service sends its events, and their deliveries. Changes are logged, without the secret. */
export class WebhookService {
  readonly #dependencies: WebhookDependencies;

  constructor(dependencies: WebhookDependencies) {
    this.#dependencies = dependencies;
  }

  async list(): Promise<WebhookEndpoint[]> {
    return this.#repository.list();
  }

  async find(id: string): Promise<WebhookEndpoint> {
    return found(await this.#repository.find(id));
  }

  async create(
    { url, description, types, projects, enabled: isEnabled }: CreateWebhook,
    context: ChangeContext,
  ): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
    const repository = this.#repository;
    this.#assertAllowed(url);
    const secret = newSecret();
    const projectIds = await this.#projectIdsOf(projects, context);
    const draft = { url, description, types, projectIds, isEnabled, secret, createdBy: context.actor.id };
    const endpoint = await repository.insert(draft);
    if (endpoint === undefined) {
      const detail = `There are ${webhooksMax} endpoints already.`;
      throw new ProblemError({ status: 409, code: 'too_many_webhooks', detail });
    }
    this.#log('webhook created', endpoint.id, context);
    return { endpoint, secret };
  }

  async update(id: string, change: UpdateWebhook, context: ChangeContext): Promise<WebhookEndpoint> {
    const repository = this.#repository;
    if (change.url !== undefined) this.#assertAllowed(change.url);
    const { projects, ...others } = change;
    const projectIds = projects && (await this.#projectIdsOf(projects, context));
    const endpoint = found(await repository.update(id, { ...others, projectIds }));
    this.#log('webhook changed', id, context, { fields: Object.keys(change) });
    return endpoint;
  }

  async #projectIdsOf(keys: readonly string[], { actor }: ChangeContext): Promise<string[]> {
    const ids = new Set<string>();
    for (const [place, key] of keys.entries()) {
      const project = await this.#dependencies.projects.lookUp(key, actor);
      const message = project === undefined ? 'must be the key of a project' : 'must not be sealed';
      if (project === undefined || project.visibility === 'sealed')
        throw validationProblem([{ field: `projects.${place}`, message }]);
      ids.add(project.id);
    }
    return [...ids];
  }

  async delete(id: string, context: ChangeContext): Promise<void> {
    if (!(await this.#repository.delete(id))) throw webhookNotFound();
    this.#log('webhook deleted', id, context);
  }

  /** Replaces the secret, and returns the new one. */
  async rotate(id: string, context: ChangeContext): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
    const secret = newSecret();
    const endpoint = found(await this.#repository.rotate(id, secret));
    this.#log('webhook secret rotated', id, context);
    return { endpoint, secret };
  }

  /** Requests a test. Returns its delivery. */
  async test(id: string, context: ChangeContext): Promise<ListedDelivery> {
    const delivery = await this.#repository.addTest(id);
    if (delivery === undefined) {
      await this.find(id);
      throw webhookDisabled();
    }
    this.#log('webhook test requested', id, context, { deliveryId: Number(delivery.id) });
    return delivery;
  }

  async redeliver(id: string, deliveryId: string, context: ChangeContext): Promise<ListedDelivery> {
    const delivery = await this.#repository.redeliver(id, deliveryId);
    if (delivery === undefined) {
      await this.findDelivery(id, deliveryId);
      const { isEnabled } = await this.find(id);
      if (!isEnabled) throw webhookDisabled();
      const detail = 'Further attempts of this delivery follow already.';
      throw new ProblemError({ status: 409, code: 'delivery_pending', detail });
    }
    this.#log('webhook redelivery requested', id, context, { deliveryId: Number(deliveryId) });
    return delivery;
  }

  async listDeliveries(id: string, page: DeliveryPage): Promise<ListedDelivery[]> {
    const deliveries = await this.#repository.listDeliveries(id, page);
    if (deliveries.length === 0) await this.find(id);
    return deliveries;
  }

  async findDelivery(id: string, deliveryId: string): Promise<ListedDelivery> {
    const delivery = await this.#repository.findDelivery(id, deliveryId);
    if (delivery !== undefined) return delivery;
    await this.find(id);
    const detail = 'The endpoint has no such delivery.';
    throw new ProblemError({ status: 404, code: 'delivery_not_found', detail });
  }

  async listAttempts(delivery: Pick<Delivery, 'id'>): Promise<DeliveryAttempt[]> {
    return this.#repository.listAttempts(delivery.id);
  }

  get #repository(): WebhookRepository {
    return this.#dependencies.repository;
  }

  #assertAllowed(url: string): void {
    try {
      this.#dependencies.targets.assertAllowedUrl(url);
    } catch (error) {
      if (!(error instanceof ForbiddenTarget)) throw error;
      throw validationProblem([{ field: 'url', message: error.message }]);
    }
  }

  #log(message: string, endpointId: string, context: ChangeContext, details: object = {}): void {
    const { actor, requestId } = context;
    this.#dependencies.logger.info({ actorId: actor.id, requestId, endpointId, ...details }, message);
  }
}

/** A secret of Standard Webhooks, which recommends 24 to 64 random bytes. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function found(endpoint: WebhookEndpoint | undefined): WebhookEndpoint {
  if (endpoint !== undefined) return endpoint;
  throw webhookNotFound();
}

function webhookNotFound(): ProblemError {
  return new ProblemError({ status: 404, code: 'webhook_not_found', detail: 'There is no such endpoint.' });
}

function webhookDisabled(): ProblemError {
  return new ProblemError({ status: 409, code: 'webhook_disabled', detail: 'The endpoint is disabled.' });
}
