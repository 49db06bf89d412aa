import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Project, ProjectMember, ProjectRole } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { projectsQuery } from '../http/queries.ts';
import { formatNumber, personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { PersonPicker } from '../people/person-picker.tsx';
import { QueryState } from '../settings/query-state.tsx';
import { Confirm } from '../shell/confirm.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { notifyDone, takeBack } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { explained } from './project-problem.ts';
import { historyKey, membersQuery, projectQuery } from './project-queries.ts';
import { roleNames, roles, roleTexts } from './visibility.ts';

const shownMax = 50;

/** The members of a project. Its managers and staff add and remove them; each member may leave. */
export function ProjectMembers({ project, isManager }: { project: Project; isManager: boolean }) {
  const { key, name } = project;
  const client = useQueryClient();
  const me = useUser();
  const members = useQuery(membersQuery(key));
  const [role, setRole] = useState<ProjectRole>('member');
  const [problem, setProblem] = useState('');
  const [isLong, setLong] = useState(false);
  const all = [...(members.data ?? [])].sort(inOrder);
  const refresh = () =>
    Promise.all(
      [membersQuery(key).queryKey, historyKey(key), projectsQuery.queryKey, projectQuery(key).queryKey].map(
        (queryKey) => client.invalidateQueries({ queryKey }),
      ),
    );
  const put = (id: string, next: ProjectRole) =>
    explained(call('putProjectMember', { params: { key, user_id: id }, body: { role: next } }));
  const remove = (id: string) => explained(call('deleteProjectMember', { params: { key, user_id: id } }));
  /** Shows why a change was refused above the list. */
  const act = async (what: string, change: () => Promise<unknown>) => {
    setProblem('');
    try {
      await change();
    } catch (error) {
      setProblem(`${what} ${error instanceof Error ? error.message : ''}`);
    }
    await refresh();
  };
  const add = (person: ProjectMember['user']) =>
    act(`${personName(person)} was not added.`, async () => {
      if (all.some(({ user }) => user.id === person.id))
        throw new Error('This person is a member already. The role is beside the name.');
      await put(person.id, role);
      notifyDone(`${personName(person)} is a ${role} of ${name} now`, () =>
        takeBack(() => remove(person.id), refresh),
      );
    });
  const change = ({ user, role: before }: ProjectMember, next: ProjectRole) =>
    act(`${personName(user)} was not changed.`, async () => {
      await put(user.id, next);
      notifyDone(`${personName(user)} is a ${next} of ${name} now`, () =>
        takeBack(() => put(user.id, before), refresh),
      );
    });
  const isHidden = members.error instanceof HttpError && members.error.status === 403;
  return (
    <section aria-labelledby="members-title">
      <h2 id="members-title">Members</h2>
      <p className="muted">{roles.map((one) => `${roleNames[one]}: ${roleTexts[one]}`).join('. ')}.</p>
      {isManager && (
        <div className="add-member">
          <PersonPicker
            label="Add a person"
            summary="Add a person"
            first={[]}
            selected={[]}
            onChange={([id], people) => {
              const person = people.find((one) => one.id === id);
              if (person !== undefined) void add(person);
            }}
          />
          <span className="check">
            as
            <RoleSelect label="Role of the new member" role={role} onChange={setRole} />
          </span>
        </div>
      )}
      <p className="form-problem" role="alert">
        {problem}
      </p>
      {isHidden ? <p>Only members and staff see who the members are.</p> : <QueryState query={members} />}
      {members.isSuccess && all.length === 0 && <p>The project has no members.</p>}
      <ul className="entries" aria-label="Members">
        {(isLong ? all : all.slice(0, shownMax)).map((member) => (
          <Member
            key={member.user.id}
            member={member}
            isManager={isManager}
            isOwn={member.user.id === me.id}
            onChange={(next) => void change(member, next)}
            onRemove={async () => {
              await remove(member.user.id);
              await refresh();
            }}
          />
        ))}
      </ul>
      {all.length > shownMax && (
        <button type="button" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
          {isLong ? 'Show fewer' : `Show all ${formatNumber(all.length)}`}
        </button>
      )}
    </section>
  );
}

/** Managers first, then by name. */
function inOrder(one: ProjectMember, other: ProjectMember): number {
  return (
    roles.indexOf(other.role) - roles.indexOf(one.role) ||
    personName(one.user).localeCompare(personName(other.user))
  );
}

interface MemberProps {
  member: ProjectMember;
  isManager: boolean;
  isOwn: boolean;
  onChange: (role: ProjectRole) => void;
  onRemove: () => Promise<void>;
}

function Member({ member: { user, role, since }, isManager, isOwn, onChange, onRemove }: MemberProps) {
  const name = personName(user);
  return (
    <li>
      <div className="person">
        <Avatar person={user} />
        <div>
          <strong dir="auto">{name}</strong>
          {isOwn && <span className="badge">You</span>}
          <p className="muted">
            {user.username !== null && <bdi>{user.username}</bdi>} since <RelativeTime at={since} />
          </p>
        </div>
      </div>
      <div className="actions">
        {isManager ? (
          <RoleSelect label={`Role of ${name}`} role={role} onChange={onChange} />
        ) : (
          <span className="muted">{roleNames[role]}</span>
        )}
        {(isManager || isOwn) && (
          <Confirm
            name={isOwn ? 'Leave' : 'Remove'}
            label={isOwn ? 'Leave the project' : `Remove ${name}`}
            title={isOwn ? 'Leave the project?' : `Remove ${name} from the project?`}
            text={
              isOwn
                ? 'What only members see is gone for you within seconds, also your drafts about it. A manager can add you again.'
                : 'What only members see is gone for this person within seconds, also from open pages and the inbox.'
            }
            action={onRemove}
          />
        )}
      </div>
    </li>
  );
}

interface RoleSelectProps {
  label: string;
  role: ProjectRole;
  onChange: (role: ProjectRole) => void;
}

function RoleSelect({ label, role, onChange }: RoleSelectProps) {
  return (
    <select aria-label={label} value={role} onChange={({ target }) => onChange(target.value as ProjectRole)}>
      {roles.map((one) => (
        <option key={one} value={one}>
          {roleNames[one]}
        </option>
      ))}
    </select>
  );
}
