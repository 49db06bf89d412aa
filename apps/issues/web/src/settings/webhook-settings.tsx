import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { IssueEventType, Webhook, WebhookWithSecret } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { eventTypes } from '../live/event-feed.ts';
import { fullTime } from '../messages.ts';
import { Confirm } from '../shell/confirm.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { notify } from '../shell/toasts.tsx';
import { QueryState } from './query-state.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { WebhookDeliveries } from './webhook-deliveries.tsx';

const disabledReasons: Record<NonNullable<Webhook['disabled_reason']>, string> = {
  gone: 'The receiver answered 410 (Gone).',
  failing: 'All deliveries failed for too long.',
  backlog: 'Too many events waited for the receiver.',
};

export function WebhookSettings() {
  const client = useQueryClient();
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    queryFn: ({ signal }) => call('listWebhooks', { signal }),
  });
  const [edited, setEdited] = useState<Webhook | 'new'>();
  const [secret, setSecret] = useState<WebhookWithSecret>();
  const refresh = () =>
    Promise.all(
      ['webhooks', 'webhook-deliveries'].map((one) => client.invalidateQueries({ queryKey: [one] })),
    );
  const attempt = async (action: () => Promise<unknown>, done: string) => {
    try {
      await action();
      if (done !== '') notify(done);
    } catch (error) {
      notify(error instanceof Error ? error.message : 'Try again.');
    }
    await refresh();
  };
  return (
    <>
      <p className="muted">
        The service sends events to these endpoints, signed as Standard Webhooks, at least once and not in
        order.
      </p>
      <button type="button" className="primary" onClick={() => setEdited('new')}>
        New webhook
      </button>
      <QueryState query={webhooks} />
      {webhooks.data?.length === 0 && <p>There are no webhooks.</p>}
      <ul className="entries" aria-label="Webhooks">
        {webhooks.data?.map((webhook) => (
          <li key={webhook.id} className="entry-block">
            <div>
              <strong className="url">{webhook.url}</strong>
              {!webhook.enabled && <span className="badge">Disabled</span>}
              {webhook.description !== '' && <p>{webhook.description}</p>}
              <p className="muted">{webhook.types.length === 0 ? 'All events' : webhook.types.join(', ')}</p>
              {webhook.disabled_reason !== null && (
                <p className="form-problem">{disabledReasons[webhook.disabled_reason]}</p>
              )}
              {webhook.enabled && webhook.failing_since !== null && (
                <p className="form-problem">Failing since {fullTime(webhook.failing_since)}</p>
              )}
              {webhook.previous_secret_until !== null && (
                <p className="muted">
                  The earlier secret signs as well until {fullTime(webhook.previous_secret_until)}
                </p>
              )}
            </div>
            <div className="actions">
              <button type="button" aria-label={`Edit ${webhook.url}`} onClick={() => setEdited(webhook)}>
                Edit
              </button>
              <button
                type="button"
                disabled={!webhook.enabled}
                onClick={() =>
                  void attempt(
                    () => call('testWebhook', { params: { id: webhook.id } }),
                    'A test is being sent.',
                  )
                }
              >
                Send a test
              </button>
              <button
                type="button"
                onClick={() =>
                  void attempt(
                    () =>
                      call('updateWebhook', {
                        params: { id: webhook.id },
                        body: { enabled: !webhook.enabled },
                      }),
                    '',
                  )
                }
              >
                {webhook.enabled ? 'Disable' : 'Enable'}
              </button>
              <Confirm
                name="New secret"
                title="Make a new secret?"
                text="For a day, both secrets sign each delivery. An earlier rotation ends now."
                action={async () => {
                  setSecret(await call('rotateWebhookSecret', { params: { id: webhook.id } }));
                  await refresh();
                }}
              />
              <Confirm
                name="Delete"
                label={`Delete ${webhook.url}`}
                title="Delete the webhook?"
                text={`Nothing more is sent to ${webhook.url}, and its deliveries are forgotten.`}
                action={async () => {
                  await call('deleteWebhook', { params: { id: webhook.id } });
                  await refresh();
                }}
              />
            </div>
            <WebhookDeliveries webhook={webhook} />
          </li>
        ))}
      </ul>
      {edited !== undefined && (
        <Dialog
          title={edited === 'new' ? 'New webhook' : 'Edit the webhook'}
          onClose={() => setEdited(undefined)}
        >
          <WebhookForm
            webhook={edited === 'new' ? undefined : edited}
            onSaved={async (created) => {
              setEdited(undefined);
              setSecret(created);
              await refresh();
            }}
          />
        </Dialog>
      )}
      {secret !== undefined && (
        <SecretDialog
          title="The secret of the webhook"
          text="The receiver verifies signatures with it. It is shown only now."
          secret={secret.secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  );
}

interface WebhookFormProps {
  webhook: Webhook | undefined;
  onSaved: (created: WebhookWithSecret | undefined) => Promise<void>;
}

function WebhookForm({ webhook, onSaved }: WebhookFormProps) {
  const form = useForm(async ({ url = '', description = '' }, element) => {
    const types = new FormData(element).getAll('types') as IssueEventType[];
    const body = { url, description, types };
    if (webhook === undefined) return onSaved(await call('createWebhook', { body }));
    await call('updateWebhook', { params: { id: webhook.id }, body });
    return onSaved(undefined);
  });
  const chosen: readonly string[] = webhook?.types ?? [];
  return (
    <form ref={form.ref} onSubmit={form.onSubmit}>
      <Field
        state={form}
        label="URL"
        name="url"
        type="url"
        required
        maxLength={2_048}
        defaultValue={webhook?.url}
        placeholder="https://example.com/hooks/tessera"
      />
      <Field
        state={form}
        label="Description"
        name="description"
        maxLength={200}
        defaultValue={webhook?.description}
      />
      <fieldset className="types">
        <legend>Events (none chosen: all)</legend>
        {eventTypes.map((type: IssueEventType) => (
          <label key={type} className="check">
            <input type="checkbox" name="types" value={type} defaultChecked={chosen.includes(type)} />
            {type}
          </label>
        ))}
      </fieldset>
      <Submit state={form} name={webhook === undefined ? 'Create' : 'Save'} done="Saved" />
    </form>
  );
}
