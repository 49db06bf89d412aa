import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ClientDetails } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { fullTime } from '../messages.ts';
import { Confirm } from '../shell/confirm.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { QueryState } from './query-state.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface ShownSecret {
  clientId: string;
  secret: string;
}

/** The applications whose people sign in at identity. */
export function ClientSettings() {
  const client = useQueryClient();
  const clients = useQuery({
    queryKey: ['clients'],
    queryFn: ({ signal }) => call('listAppClients', { signal }),
  });
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<ShownSecret>();
  const refresh = () => client.invalidateQueries({ queryKey: ['clients'] });
  return (
    <>
      <p className="muted">People sign in to these applications with the same account, by OpenID Connect.</p>
      <button type="button" className="primary" onClick={() => setCreating(true)}>
        New application
      </button>
      <QueryState query={clients} />
      <ul className="entries" aria-label="Applications">
        {clients.data?.clients.map((one) => (
          <ClientEntry key={one.client_id} client={one} onChanged={refresh} onSecret={setShown} />
        ))}
      </ul>
      {isCreating && (
        <Dialog title="New application" onClose={() => setCreating(false)}>
          <ClientForm
            onCreated={async (created) => {
              setCreating(false);
              setShown(created);
              await refresh();
            }}
          />
        </Dialog>
      )}
      {shown !== undefined && (
        <SecretDialog
          title="The secret of the application"
          text={`The application sends it with its id, ${shown.clientId}. It is shown only now.`}
          secret={shown.secret}
          onClose={() => setShown(undefined)}
        />
      )}
    </>
  );
}

interface ClientEntryProps {
  client: ClientDetails;
  onChanged: () => Promise<void>;
  onSecret: (shown: ShownSecret) => void;
}

function ClientEntry({ client, onChanged, onSecret }: ClientEntryProps) {
  const {
    client_id,
    name,
    kind,
    redirect_uris: uris,
    disabled_at: disabledAt,
    last_refusal: refusal,
  } = client;
  const params = { client_id };
  return (
    <li className="entry-block">
      <div>
        <strong dir="auto">{name}</strong>
        <span className="badge">{kind}</span>
        {disabledAt !== null && <span className="badge">Disabled</span>}
        <p className="muted">
          <code>{client_id}</code>
        </p>
        {uris.map((uri) => (
          <p key={uri} className="url">
            {uri}
          </p>
        ))}
        {refusal !== null && (
          <p className="form-problem">
            {`On ${fullTime(refusal.at)}, it sent the redirect URI ${refusal.sent}, which is not registered.`}
            {refusal.nearest !== null &&
              ` The nearest registered one, ${refusal.nearest}, differs at character ${refusal.differs_at}.`}
          </p>
        )}
      </div>
      {disabledAt === null && (
        <div className="actions">
          {kind !== 'public' && (
            <Confirm
              name="New secret"
              label={`New secret of ${name}`}
              title="Make a new secret?"
              text="For a day, both secrets are valid. An earlier rotation ends now."
              action={async () => {
                const { client_secret: secret } = await call('rotateAppClientSecret', { params });
                onSecret({ clientId: client_id, secret });
                await onChanged();
              }}
            />
          )}
          <Confirm
            name="Disable"
            label={`Disable ${name}`}
            title="Disable the application?"
            text={`Nobody can sign in to ${name} any more. This cannot be undone.`}
            action={async () => {
              await call('disableAppClient', { params });
              await onChanged();
            }}
          />
        </div>
      )}
    </li>
  );
}

function ClientForm({ onCreated }: { onCreated: (created: ShownSecret | undefined) => Promise<void> }) {
  const form = useForm(async ({ name = '', redirect_uris = '', is_public }) => {
    const body = {
      name,
      kind: is_public === undefined ? ('confidential' as const) : ('public' as const),
      redirect_uris: redirect_uris.split(/\s+/).filter((uri) => uri !== ''),
    };
    const { client_id: clientId, client_secret: secret } = await call('createAppClient', { body });
    await onCreated(secret === undefined ? undefined : { clientId, secret });
  });
  return (
    <form ref={form.ref} onSubmit={form.onSubmit}>
      <Field state={form} label="Name" name="name" required maxLength={100} />
      <Field
        state={form}
        label="Redirect URIs, separated by spaces"
        name="redirect_uris"
        required
        placeholder="https://wiki.example.com/callback"
      />
      <label className="check">
        <input type="checkbox" name="is_public" />
        Runs on the devices of people and cannot keep a secret
      </label>
      <Submit state={form} name="Create" done="Created" />
    </form>
  );
}
