import type { DeliveryState, WebhookDisabledReason } from '@tessera/contracts';
import type { DeliveredEvent } from './webhook-sender.ts';

/** An endpoint of another system, without its secrets. */
export interface WebhookEndpoint {
  id: string;
  url: string;
  description: string;
  /** Empty for all. */
  types: string[];
  /** The keys of the projects whose events are sent, null for that of the default project; empty for all that everyone reads. */
  projectKeys: (string | null)[];
  isEnabled: boolean;
  disabledReason: WebhookDisabledReason | null;
  disabledAt: Date | null;
  failingSince: Date | null;
  /** Null if no previous secret signs. */
  previousSecretUntil: Date | null;
  createdBy: string;
  creatorName: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface DeliveryAttempt {
  number: number;
  startedAt: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
  answer: string | null;
}

/** A delivery as it is shown. */
export interface Delivery extends DeliveredEvent {
  state: DeliveryState;
  attempts: number;
  nextAttemptAt: Date | null;
  createdAt: Date;
  endedAt: Date | null;
}

/** A delivery in a list. */
export interface ListedDelivery extends Delivery {
  lastAttempt: Omit<DeliveryAttempt, 'answer'> | undefined;
}

/** A page of deliveries, after the last one of the previous page. */
export interface DeliveryPage {
  state: DeliveryState | undefined;
  limit: number;
  after: { id: string } | undefined;
}
