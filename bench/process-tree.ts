import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name stands in brackets and may hold anything, so counting starts behind it: state is field 3.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const field = (number: number): number => Number(fields[number - 3]);
    return { pid, parent: field(4), ticks: field(14) + field(15) + field(16) + field(17) };
  } catch {
    return undefined; // ended between listing and reading
  }
}

function readTree(roots: readonly number[]): Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat !== undefined);
  const members = new Set(roots);
  // Until nothing is added: process ids may wrap around, so a child can stand before its parent.
  for (let before = 0; before !== members.size; ) {
    before = members.size;
    for (const stat of all) if (members.has(stat.parent)) members.add(stat.pid);
  }
  return all.filter((stat) => members.has(stat.pid));
}

/**
 * CPU seconds used so far by these processes and all below them, every thread counted.
 * A descendant that has ended stays in the sum: its parent carries it on as time of waited-for children.
 */
export function cpuSeconds(roots: readonly number[]): number {
  return readTree(roots).reduce((sum, stat) => sum + stat.ticks, 0) / ticksPerSecond;
}

/** Resident memory of a process and all below it, in MiB. */
export function residentMebibytes(root: number): number {
  return readTree([root]).reduce((sum, { pid }) => sum + residentKibibytes(pid), 0) / 1024;
}

function residentKibibytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0; // ended between listing and reading
  }
}
