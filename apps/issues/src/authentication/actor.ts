import type { ServerResponse } from 'node:http';

/** Who asks: the identity behind the request's access token, with the rights that it has now. */
export interface Actor {
  id: string;
  username: string;
  email: string;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
}

const actorKey = Symbol('actor');

/** Keeps the actor for the handlers behind `authenticate`. */
export function setActor(response: ServerResponse, actor: Actor): void {
  Reflect.set(response, actorKey, actor);
}

/** The actor of a request behind `authenticate`. */
export function actorOf(response: ServerResponse): Actor {
  const actor: Actor | undefined = Reflect.get(response, actorKey);
  if (actor === undefined) throw new Error('actorOf needs authenticate before it');
  return actor;
}
