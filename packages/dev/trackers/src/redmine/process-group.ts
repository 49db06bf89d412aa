import { readdirSync, readFileSync } from 'node:fs';

/** The running processes of a process group, from Linux's `/proc`. */
export function pidsOfGroup(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isLivingMember(pid, group));
}

// proc(5): the fields after the name in parentheses are state, parent and process group. Z is a zombie.
function isLivingMember(pid: number, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, , groupOfIt] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state !== 'Z' && Number(groupOfIt) === group;
  } catch {
    // The process has ended meanwhile.
    return false;
  }
}
