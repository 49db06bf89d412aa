import type { changeIdentityPassword } from '@tessera/contracts';
import { abortSignalOf, type Handler, originOf } from '@tessera/service-kit';
import type { PasswordChangeService } from './password-change.service.ts';

export function passwordChangeHandlers(changes: PasswordChangeService) {
  const change: Handler<typeof changeIdentityPassword> = async ({ params, body, request, response }) => {
    const passwords = { current: body.current_password, next: body.new_password };
    await changes.change(params.id, passwords, originOf(request), abortSignalOf(response));
    return { status: 204 };
  };

  return { change };
}
