import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Webhook, WebhookDelivery } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { fullTime } from '../messages.ts';
import { RelativeTime } from '../shell/relative-time.tsx';
import { notify } from '../shell/toasts.tsx';
import { QueryState } from './query-state.tsx';

/** The latest deliveries of a webhook, read when they are opened. */
export function WebhookDeliveries({ webhook }: { webhook: Webhook }) {
  const [isOpen, setOpen] = useState(false);
  const queryKey = ['webhook-deliveries', webhook.id];
  const deliveries = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      call('listWebhookDeliveries', { params: { id: webhook.id }, query: { limit: 20 }, signal }),
    enabled: isOpen,
    // A pending delivery ends soon.
    refetchInterval: ({ state }) => (state.data?.some((one) => one.state === 'pending') ? 2_000 : false),
  });
  return (
    <details className="deliveries" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Deliveries</summary>
      {isOpen && <QueryState query={deliveries} />}
      {deliveries.data?.length === 0 && <p className="muted">Nothing has been sent.</p>}
      <ul>
        {deliveries.data?.map((delivery) => (
          <Delivery key={delivery.id} webhook={webhook} delivery={delivery} />
        ))}
      </ul>
    </details>
  );
}

const stateNames: Record<WebhookDelivery['state'], string> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
};

function Delivery({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { id, type, state, attempt_count, last_attempt, created_at } = delivery;
  const params = { id: webhook.id, delivery_id: id };
  const details = useQuery({
    queryKey: ['webhook-deliveries', webhook.id, id, attempt_count],
    queryFn: ({ signal }) => call('getWebhookDelivery', { params, signal }),
    enabled: isOpen,
  });
  const again = async () => {
    try {
      await call('redeliverWebhook', { params });
    } catch (error) {
      notify(error instanceof Error ? error.message : 'Try again.');
    }
    await client.invalidateQueries({ queryKey: ['webhook-deliveries', webhook.id] });
  };
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className={`delivery-${state}`}>{stateNames[state]}</span> {type}{' '}
          <span className="muted">
            {last_attempt === null ? '' : (last_attempt.status ?? last_attempt.error ?? '')}{' '}
            <RelativeTime at={created_at} />
          </span>
        </summary>
        {isOpen && <QueryState query={details} />}
        {details.data !== undefined && (
          <div className="delivery">
            <h2>Attempts</h2>
            <ol>
              {details.data.attempts.map(({ number, started_at, duration_ms, status, error, answer }) => (
                <li key={number}>
                  {fullTime(started_at)}, {duration_ms} ms: {status ?? error}
                  {answer !== null && answer !== '' && <pre>{answer}</pre>}
                </li>
              ))}
            </ol>
            <h2>Body</h2>
            <pre>{JSON.stringify(details.data.payload, null, 2)}</pre>
          </div>
        )}
        <button type="button" disabled={state === 'pending' || !webhook.enabled} onClick={() => void again()}>
          Send again
        </button>
      </details>
    </li>
  );
}
