import type { Response } from 'express';

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
export function setActor(response: Response, actor: Actor): void {
  Reflect.set(response.locals, actorKey, actor);
}

/** The actor of a request behind `authenticate`. */
export function actorOf(response: Response): Actor {
  const actor: Actor | undefined = Reflect.get(response.locals, actorKey);
  if (actor === undefined) throw new Error('actorOf needs authenticate before it');
  return actor;
}
