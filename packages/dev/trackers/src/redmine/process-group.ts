import { readdirSync, readFileSync } from 'node:fs';

/** The living processes of a process group, as Linux's `/proc` names them. */
export function pidsOfGroup(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isLivingMember(pid, group));
}

// proc(5): the fields after the name in brackets, which itself may hold spaces, are state, parent and group. Z has
// ended and waits for a parent that asks.
function isLivingMember(pid: number, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, , groupOfIt] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state !== 'Z' && Number(groupOfIt) === group;
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
