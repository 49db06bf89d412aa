import {
  type deleteProjectMember,
  type listProjectActivity,
  listProjectMembers,
  type ProjectActivity,
  type ProjectMember,
  type putProjectMember,
  uuid,
} from '@tessera/contracts';
import { type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import { presentPerson } from '../issue-core/person.ts';
import type { Member, ProjectEntry } from './member.repository.ts';
import type { MemberService } from './member.service.ts';

interface MemberHandlersOptions {
  members: MemberService;
  publicBaseUrl: string;
}

/** Handlers of the members and the history of projects. */
export function memberHandlers({ members, publicBaseUrl }: MemberHandlersOptions) {
  const urlOf = (key: string, name: 'members' | 'activity') =>
    publicBaseUrl + listProjectMembers.path.replace(':key', key).replace('members', name);

  const list: Handler<typeof listProjectMembers, Actor> = async ({ actor, params, query }) => {
    const page = readKeysetPage(query, {
      url: urlOf(params.key, 'members'),
      place: uuid(),
      sizeDefault: 100,
    });
    const found = await members.list(actor, params.key, page);
    return page.present(found, { item: presentMember, place: ({ userId }) => userId });
  };

  const put: Handler<typeof putProjectMember, Actor> = async ({ actor, params, body }) => {
    const { member, isNew } = await members.put(actor, params.key, params.user_id, body.role);
    return { status: isNew ? 201 : 200, body: presentMember(member) };
  };

  const remove: Handler<typeof deleteProjectMember, Actor> = async ({ actor, params }) => {
    await members.remove(actor, params.key, params.user_id);
    return { status: 204 };
  };

  const history: Handler<typeof listProjectActivity, Actor> = async ({ actor, params, query }) => {
    const page = readKeysetPage(query, {
      url: urlOf(params.key, 'activity'),
      place: z.int().positive(),
      sizeDefault: 100,
    });
    const found = await members.history(actor, params.key, page);
    return page.present(found, { item: presentEntry, place: ({ id }) => id });
  };

  return { list, put, remove, history };
}

function presentMember({ userId, names, role, since }: Member): ProjectMember {
  return { user: presentPerson(userId, names), role, since: since.toISOString() };
}

function presentEntry(entry: ProjectEntry): ProjectActivity {
  return {
    id: entry.id,
    kind: entry.kind,
    actor: presentPerson(entry.actorId, entry.actorNames),
    user: presentPerson(entry.userId, entry.userNames),
    field: entry.field,
    old: entry.old,
    new: entry.new,
    at: entry.at.toISOString(),
  };
}
